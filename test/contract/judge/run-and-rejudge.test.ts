// judge: a program on an input of its own, and a submission judged again.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cannotTest } from '../../judge/rig.ts'
import { packageFiles, packageOf } from '../../support/zip.ts'
import { account, ask, judge, judged, putProblem, setup, submit, TWICE, type Credentials } from './setup.ts'

const run = (url: string, who: Credentials, body: object, problem = 'twice') =>
  ask(`${url}/problems/${problem}/run`, {
    body: { language: 'c', code: TWICE.accepted, input: '', ...body },
    headers: who,
  })

describe('judge run and rejudge', { skip: cannotTest }, () => {
  test('judge 1.10: a program runs on an input of its own, and is no submission', async (t) => {
    const { url, ann } = await setup(t)
    const noisy =
      '#include <stdio.h>\nint main(void) { int n; scanf("%d", &n); fputs("hm", stderr); printf("%d", n + 1); return n == 9; }\n'

    const accepted = await run(url, ann, { code: noisy, input: '700\n' })
    const result = await judged(url, ann, accepted.body.job_id)
    const failing = await judged(url, ann, (await run(url, ann, { code: noisy, input: '9' })).body.job_id)
    const broken = await judged(url, ann, (await run(url, ann, { code: 'int main(' })).body.job_id)
    const { body: list } = await ask(`${url}/submissions`, { headers: ann })

    assert.equal(accepted.status, 202)
    assert.deepEqual([result.verdict, result.own_input, result.tests.length], ['AC', true, 1])
    const [{ name, input, output, stderr, expected }] = result.tests
    assert.deepEqual([name, input, output, stderr, expected], ['input', '700\n', '701', 'hm', undefined])
    assert.deepEqual([failing.verdict, failing.tests[0].output], ['RE', '10'])
    assert.equal(broken.verdict, 'CE')
    assert.deepEqual(list.submissions, [])
  })

  test('judge 1.10: a run shows nothing that an earlier one wrote', async (t) => {
    const { url, ann } = await setup(t, { env: { JUDGE_SLOTS: '1' } })
    const bob = await account(url, 'bob')
    const loud = '#include <stdio.h>\nint main(void) { puts("a secret of ann"); fputs("another", stderr); }\n'
    const huge = 'char big[1 << 30]; int main(void) { return 0; }\n'
    await judged(url, ann, (await run(url, ann, { code: loud })).body.job_id)

    const quiet = await judged(url, bob, (await run(url, bob, { code: 'int main(void) { return 0; }\n' })).body.job_id)
    const never = await judged(url, bob, (await run(url, bob, { code: huge })).body.job_id)

    assert.deepEqual([quiet.verdict, quiet.tests[0].output, quiet.tests[0].stderr], ['AC', '', ''])
    assert.deepEqual([never.verdict, never.tests[0].output, never.tests[0].stderr], ['MLE', '', ''])
  })

  test('judge 1.10: bad runs are refused', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve', env: { SUBMIT_RATE_LIMIT_MAX: '1' } })
    const interactive = packageFiles({
      'problem.yaml': 'name: Talk\nvalidation: custom interactive\n',
      'output_validators/talk.py': 'import sys\nsys.exit(42)\n',
    })
    assert.equal((await putProblem(url, 'talk', packageOf(interactive))).status, 201)

    const refused = await Promise.all([
      run(url, ann, { input: 'x'.repeat(65_537) }),
      run(url, ann, {}, 'talk'),
      run(url, ann, {}, 'none'),
      run(url, ann, { language: 'cobol' }),
      run(url, ann, { more: 1 }),
      run(url, {}, {}),
    ])
    const first = await run(url, ann, {})
    const second = await run(url, ann, {})
    const submitted = await submit(url, ann, { code: TWICE.accepted })

    assert.deepEqual(
      refused.map(({ status, body }) => `${status} ${body.code}`),
      [
        '400 input_too_large',
        '400 not_runnable',
        '404 problem_not_found',
        '400 unsupported_language',
        '400 validation_failed',
        '401 unauthorized',
      ],
    )
    assert.deepEqual([first.status, second.status, submitted.status], [202, 429, 202])
  })

  test('judge 4.11: a rejudged submission is a new one by the present package, and names the old one', async (t) => {
    const { url, ann } = await setup(t)
    const admin = await account(url, 'root', ['ADMIN'])
    const old = await judge(url, ann, { code: TWICE.accepted })
    const rejudge = (id: string, who: Credentials) =>
      ask(`${url}/submissions/${id}/rejudge`, { method: 'POST', headers: who })
    await putProblem(url, 'twice', packageOf(packageFiles({ 'data/secret/1.ans': 'something else\n' })))

    const accepted = await rejudge(old.job_id, admin)
    const again = await judged(url, ann, accepted.body.job_id)
    const kept = await judged(url, ann, old.job_id)
    const { body: list } = await ask(`${url}/submissions`, { headers: ann })
    const own = await judged(url, ann, (await run(url, ann, {})).body.job_id)

    assert.equal(accepted.status, 202)
    assert.deepEqual([old.verdict, again.verdict, kept.verdict], ['AC', 'WA', 'AC'])
    assert.deepEqual(
      list.submissions.map((one: { rejudge_of: string | null }) => one.rejudge_of),
      [old.job_id, null],
    )
    assert.equal((await rejudge(old.job_id, ann)).status, 403)
    assert.equal((await rejudge(own.job_id, admin)).status, 404)
    assert.equal((await rejudge('nothing', admin)).status, 404)
  })

  test('judge 4.11: a submission without a verdict is not rejudged', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve' })
    const admin = await account(url, 'root', ['ADMIN'])
    const { body } = await submit(url, ann, { code: TWICE.accepted })

    const refused = await ask(`${url}/submissions/${body.job_id}/rejudge`, { method: 'POST', headers: admin })

    assert.deepEqual([refused.status, refused.body.code], [409, 'not_finished'])
  })
})

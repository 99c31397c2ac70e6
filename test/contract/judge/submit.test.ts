// judge: what may be submitted, by whom, and what is said to the rest.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cannotTest } from '../../judge/rig.ts'
import { account, ask, judged, login, openClient, putProblem, setup, startServer, submit, TWICE } from './setup.ts'
import { packageFiles, packageOf } from '../../support/zip.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('judge POST /submit', () => {
  test('judge 1.1: a submission is accepted with 202, a UUIDv7 and PENDING, and is on disk', async (t) => {
    const { url, at, ann } = await setup(t, { role: 'serve' })

    const accepted = await submit(url, ann, { code: TWICE.accepted })
    const client = await openClient(t, at)
    const { rows } = await client.query('select kind, state, payload from jobs')

    assert.equal(accepted.status, 202)
    assert.match(accepted.body.job_id, UUID_V7)
    assert.deepEqual(Object.keys(accepted.body), ['job_id', 'status'])
    assert.equal(accepted.body.status, 'PENDING')
    const [{ kind, state, payload }] = rows
    assert.deepEqual([kind, state, payload.problem_id, payload.language], ['judge', 'pending', 'twice', 'c'])
    assert.equal(payload.code, TWICE.accepted)
    assert.match(payload.package, /^[0-9a-f]{64}$/)
  })

  test('judge 1.2: authentication is checked before the body', async (t) => {
    const { url } = await setup(t, { role: 'serve' })

    for (const headers of [{}, { authorization: 'Bearer nobody' }, { 'x-api-key': 'nobody' }]) {
      const refused = await ask(`${url}/submit`, { body: '{ not json', headers })
      assert.equal(refused.status, 401)
      assert.deepEqual(refused.body, { error: 'Invalid token', code: 'unauthorized' })
    }
  })

  test('judge 1.3: a bad submission is refused with 4xx and {"error","code"}, and creates no job', async (t) => {
    const { url, at, ann } = await setup(t, { role: 'serve' })
    const tooMuch = '/'.repeat(64 * 1024 + 1)
    const cases: [body: unknown, status: number, code: string][] = [
      [{ problem_id: 'nowhere', language: 'c', code: 'x' }, 404, 'problem_not_found'],
      [{ problem_id: 'twice', language: 'cobol', code: 'x' }, 400, 'unsupported_language'],
      [{ problem_id: 'twice', language: 'c', code: tooMuch }, 400, 'code_too_large'],
      [{ problem_id: 'twice', language: 'c', code: ' \n' }, 400, 'code_empty'],
      [{ problem_id: 'twice', language: 'c' }, 400, 'validation_failed'],
      [{ problem_id: 1, language: 'c', code: 'x' }, 400, 'validation_failed'],
      [{ problem_id: 'twice', language: 'c', code: 'x', priority: 9 }, 400, 'validation_failed'],
      [{ problem_id: 'twice', language: 'c', code: ['x'] }, 400, 'validation_failed'],
      ['[1,', 400, 'invalid_json'],
      ['{"problem_id":"twice","language":"c","code":"\\u0000"}', 400, 'invalid_json'],
    ]

    for (const [body, status, code] of cases) {
      const refused = await ask(`${url}/submit`, { body, headers: ann })
      assert.deepEqual([refused.status, refused.body.code], [status, code], JSON.stringify(body).slice(0, 80))
      assert.deepEqual(Object.keys(refused.body), ['error', 'code'])
      assert.equal(typeof refused.body.error, 'string')
    }
    const client = await openClient(t, at)
    assert.equal((await client.query('select from jobs')).rowCount, 0)
    assert.equal((await client.query('select from judge_submissions')).rowCount, 0)
  })

  test('judge 1.4: code may have 65,536 bytes, counted in UTF-8', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve' })
    const fits = `//${'é'.repeat(32 * 1024 - 1)}`

    assert.equal((await submit(url, ann, { code: fits })).status, 202)
    assert.equal((await submit(url, ann, { code: `${fits}!` })).status, 400)
  })

  test('judge 1.5: the same Idempotency-Key and body name the same submission, another body is 422', async (t) => {
    const { url, at, ann } = await setup(t, { role: 'serve' })
    const bob = await account(url, 'bob')
    const key = { 'idempotency-key': 'once' }

    const answers = await Promise.all([1, 2, 3, 4].map(() => submit(url, ann, { code: TWICE.accepted }, key)))
    const again = await submit(url, ann, { code: TWICE.accepted }, key)
    const other = await submit(url, ann, { code: TWICE.wrong }, key)
    const bobs = await submit(url, bob, { code: TWICE.wrong }, key)

    assert.equal(new Set([...answers, again].map(({ body }) => body.job_id)).size, 1)
    assert.deepEqual([other.status, other.body.code], [422, 'idempotency_conflict'])
    assert.equal(bobs.status, 202)
    const client = await openClient(t, at)
    assert.equal((await client.query('select from judge_submissions')).rowCount, 2)
  })

  test('judge 1.6: more than SUBMIT_RATE_LIMIT_MAX in a window are 429 with Retry-After, for that account only', async (t) => {
    const env = { SUBMIT_RATE_LIMIT_MAX: '3', SUBMIT_RATE_LIMIT_WINDOW: '60' }
    const { url, ann } = await setup(t, { role: 'serve', env })
    const bob = await account(url, 'bob')

    for (let n = 0; n < 3; n += 1) assert.equal((await submit(url, ann, { code: TWICE.wrong })).status, 202)
    const refused = await submit(url, ann, { code: TWICE.wrong })

    assert.deepEqual([refused.status, refused.body.code], [429, 'rate_limited'])
    assert(Number(refused.headers.get('retry-after')) > 0)
    assert.equal((await submit(url, bob, { code: TWICE.wrong })).status, 202)
  })

  test('judge 1.8: a repeat with the same Idempotency-Key gets the first answer even over the rate limit', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve', env: { SUBMIT_RATE_LIMIT_MAX: '2' } })
    const key = { 'idempotency-key': 'once' }
    const first = await submit(url, ann, { code: TWICE.wrong }, key)
    for (let n = 0; n < 5; n += 1) await submit(url, ann, { code: '' }) // refused bodies are free

    const repeats = await Promise.all([1, 2, 3].map(() => submit(url, ann, { code: TWICE.wrong }, key)))
    const second = await submit(url, ann, { code: TWICE.wrong })
    const third = await submit(url, ann, { code: TWICE.wrong })
    const again = await submit(url, ann, { code: TWICE.wrong }, key)

    assert.deepEqual(
      [first, ...repeats, second, third, again].map(({ status }) => status),
      [202, 202, 202, 202, 202, 429, 202],
    )
    assert.equal(again.body.job_id, first.body.job_id)
  })

  test('judge 1.9: an account has at most QUOTA_SUBMISSIONS_WAITING submissions without a verdict', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve', env: { QUOTA_SUBMISSIONS_WAITING: '2' } })
    const bob = await account(url, 'bob')

    const answers = []
    for (let n = 0; n < 3; n += 1) answers.push(await submit(url, ann, { code: TWICE.wrong }))
    const others = await submit(url, bob, { code: TWICE.wrong })

    assert.deepEqual(
      answers.map(({ status }) => status),
      [202, 202, 429],
    )
    assert.equal(answers[2]?.body.code, 'quota_exceeded')
    assert.equal(others.status, 202)
  })

  test('judge 1.7: a package may restrict its languages', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve' })
    const yaml = 'name: Only C\nlanguages: [c]\n'
    assert.equal((await putProblem(url, 'only-c', packageOf(packageFiles({ 'problem.yaml': yaml })))).status, 201)

    const python = await submit(url, ann, { problem_id: 'only-c', language: 'python3', code: 'print(1)' })
    const c = await submit(url, ann, { problem_id: 'only-c', code: TWICE.accepted })

    assert.deepEqual([python.status, python.body.code], [400, 'unsupported_language'])
    assert.equal(c.status, 202)
  })
})

describe('judge GET /status/{job_id}', () => {
  test('judge 2.1: the status is visible to the owner and admins, and 404 to others', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve' })
    const { body } = await submit(url, ann, { code: TWICE.accepted })
    const path = `${url}/status/${body.job_id}`

    const own = await ask(path, { headers: ann })
    const admins = await ask(path, { headers: await login(url) })
    const bobs = await ask(path, { headers: await account(url, 'bob') })
    const nobodys = await ask(path)

    assert.deepEqual([own.status, own.body.status, own.body.attempt_id], [200, 'PENDING', 0])
    assert.equal('verdict' in own.body, false)
    assert.equal(admins.status, 200)
    assert.deepEqual(
      [bobs.status, bobs.body],
      [404, { error: 'There is no such submission.', code: 'submission_not_found' }],
    )
    assert.equal(nobodys.status, 401)
  })

  test('judge 2.2: a job_id that is not a submission is 404, whatever it looks like', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve' })
    const echo = await ask(`${url}/admin/jobs`, { body: { kind: 'echo', payload: 1 }, headers: await login(url) })

    for (const id of [echo.body.job_id, 'x', '%F0%9F%8D%AF', '01a1e1d2-2f81-7226-99c2-12e747d2a33c', "'--"]) {
      const refused = await ask(`${url}/status/${id}`, { headers: ann })
      assert.deepEqual([refused.status, refused.body.code], [404, 'submission_not_found'], id)
    }
  })

  test('judge 2.8: a submission that waits for its next attempt is PENDING in the status and in the list', async (t) => {
    const { url, at, ann } = await setup(t, { role: 'serve' })
    const { body } = await submit(url, ann, { code: TWICE.accepted })
    const client = await openClient(t, at)
    await client.query(`update jobs set attempt_id = 1, due_at = clock_timestamp() + interval '1 hour'`)

    const status = await ask(`${url}/status/${body.job_id}`, { headers: ann })
    const list = await ask(`${url}/submissions`, { headers: ann })

    assert.deepEqual([status.body.status, list.body.submissions[0].status], ['PENDING', 'PENDING'])
  })

  test('judge 2.3: the code is shown only on request', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve' })
    const { body } = await submit(url, ann, { code: TWICE.accepted })

    const plain = await ask(`${url}/status/${body.job_id}`, { headers: ann })
    const withCode = await ask(`${url}/status/${body.job_id}?code=true`, { headers: ann })

    assert.equal('code' in plain.body, false)
    assert.equal(withCode.body.code, TWICE.accepted)
  })
})

describe('judge GET /submissions', { skip: cannotTest }, () => {
  test('judge 2.5: the list holds the caller’s submissions, newest first, in pages; an admin may list all', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve' })
    const bob = await account(url, 'bob')
    const ids: string[] = []
    for (const code of ['1', '2', '3']) ids.unshift((await submit(url, ann, { code })).body.job_id)
    await submit(url, bob, { code: '4' })

    const first = await ask(`${url}/submissions?limit=2`, { headers: ann })
    const second = await ask(`${url}/submissions?limit=2&before=${first.body.next_before}`, { headers: ann })
    const all = await ask(`${url}/submissions?all=true`, { headers: await login(url) })
    const refused = await ask(`${url}/submissions?all=true`, { headers: ann })

    const idsOf = (answer: typeof first) => answer.body.submissions.map((one: { job_id: string }) => one.job_id)
    assert.deepEqual([...idsOf(first), ...idsOf(second)], ids)
    assert.equal(second.body.next_before, null)
    assert.equal(idsOf(all).length, 4)
    assert.deepEqual([refused.status, refused.body.code], [403, 'forbidden'])
    assert.equal(first.body.submissions[0].status, 'PENDING')
  })

  test('judge 2.6: the list can be filtered by problem and verdict', async (t) => {
    const { url, ann } = await setup(t)
    const right = await submit(url, ann, { code: TWICE.accepted })
    const wrong = await submit(url, ann, { code: TWICE.wrong })
    await Promise.all([right, wrong].map(({ body }) => judged(url, ann, body.job_id)))

    const accepted = await ask(`${url}/submissions?verdict=AC&problem_id=twice`, { headers: ann })
    const none = await ask(`${url}/submissions?problem_id=other`, { headers: ann })
    const bad = await ask(`${url}/submissions?verdict=GREAT`, { headers: ann })

    assert.deepEqual(
      accepted.body.submissions.map((one: { job_id: string }) => one.job_id),
      [right.body.job_id],
    )
    const [{ status, verdict, status_text: text, time_ms: time }] = accepted.body.submissions
    assert.deepEqual([status, verdict, text, typeof time], ['FINISHED', 'AC', 'Accepted', 'number'])
    assert.deepEqual(none.body.submissions, [])
    assert.equal(bad.status, 400)
  })
})

describe('judge paths', () => {
  test('judge 2.7: an unknown path or method gets the door’s error body', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })

    for (const [method, path, status] of [
      ['GET', '/submit', 405],
      ['GET', '/status', 404],
      ['POST', '/problems/x', 405],
      ['GET', '/problems/x/y', 404],
    ] as const) {
      const refused = await ask(`${url}${path}`, { method })
      assert.equal(refused.status, status, path)
      assert.deepEqual(Object.keys(refused.body), ['error', 'code'], path)
    }
  })
})

// judge: what comes out, for every way a program can end.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, test } from 'node:test'
import { cannotTest } from '../../judge/rig.ts'
import { packageFiles, packageOf } from '../../support/zip.ts'
import { account, ask, judge, judged, putProblem, setup, startServer, submit, TWICE } from './setup.ts'
import { temporaryFolder } from '../../support/servers.ts'

const sampleOf = (problem: string, file: string) =>
  readFile(new URL(`../../../problems/${problem}/submissions/${file}`, import.meta.url), 'utf8')

const ENDS: readonly [verdict: string, text: string, code: string][] = [
  ['AC', 'Accepted', TWICE.accepted],
  ['WA', 'Wrong Answer', TWICE.wrong],
  ['TLE', 'Time Limit Exceeded', TWICE.spinning],
  ['TLE', 'Time Limit Exceeded', '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n'],
  [
    'MLE',
    'Memory Limit Exceeded',
    '#include <stdlib.h>\n#include <string.h>\nint main(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }\n',
  ],
  ['MLE', 'Memory Limit Exceeded', 'char a[800000000]; int main(void) { return a[1]; }\n'],
  ['OLE', 'Output Limit Exceeded', '#include <stdio.h>\nint main(void) { for (;;) puts("and so on"); }\n'],
  ['RE', 'Runtime Error', 'int main(void) { return 3; }\n'],
  ['RE', 'Runtime Error', '#include <stdlib.h>\nint main(void) { abort(); }\n'],
  [
    'RE',
    'Runtime Error',
    'int f(int n) { char a[4096]; a[n % 4096] = 1; return f(n + 1) + a[0]; } int main(void) { return f(0); }\n',
  ],
  ['CE', 'Compile Error', 'int main(void) { return nothing; }\n'],
]

describe('judge verdicts', { skip: cannotTest }, () => {
  test(
    'judge 4.1: each way in which a program can end has its verdict, in short and in words',
    { timeout: 120_000 },
    async (t) => {
      const { url, ann } = await setup(t)

      const results = await Promise.all(ENDS.map(([, , code]) => judge(url, ann, { code })))

      assert.deepEqual(
        results.map((result) => [result.verdict, result.status_text]),
        ENDS.map(([verdict, text]) => [verdict, text]),
      )
      for (const result of results) {
        assert.deepEqual([result.status, result.attempt_id], ['FINISHED', 1])
        assert.equal(typeof result.time_ms, 'number')
        assert.equal(typeof result.mem_kb, 'number')
        assert.equal('score' in result, false)
      }
    },
  )

  test('judge 4.2: tests are listed in order, secret ones without input or output, samples with both', async (t) => {
    const { url, ann } = await setup(t)

    const accepted = await judge(url, ann, { code: TWICE.accepted })
    const wrong = await judge(url, ann, {
      code: '#include <stdio.h>\nint main(void) { fputs("hm", stderr); puts("43"); }\n',
    })

    assert.deepEqual(
      accepted.tests.map(({ name, verdict }: { name: string; verdict: string }) => [name, verdict]),
      [
        ['sample/1', 'AC'],
        ['secret/1', 'AC'],
        ['secret/2', 'AC'],
      ],
    )
    const [sample, secret] = accepted.tests
    assert.deepEqual([sample.input, sample.expected, sample.output], ['21\n', '42\n', '42\n'])
    assert.deepEqual(Object.keys(secret), ['name', 'verdict', 'time_ms', 'mem_kb'])
    assert.equal(wrong.tests.length, 1, 'the first test that fails is the last')
    const [{ output, stderr, message }] = wrong.tests
    assert.deepEqual([output, stderr], ['43\n', 'hm'])
    assert.match(message, /expected "42", got "43"/)
  })

  test('judge 4.3: nothing of a secret test is shown, whichever way the program fails', async (t) => {
    const { url, ann } = await setup(t)
    const code = `#include <stdio.h>\nint main(void) { int n; scanf("%d", &n); fprintf(stderr, "in %d", n); puts(n == 21 ? "42" : "1234567"); }\n`

    const result = await judge(url, ann, { code })

    assert.deepEqual(result.tests[1], {
      name: 'secret/1',
      verdict: 'WA',
      time_ms: result.tests[1].time_ms,
      mem_kb: result.tests[1].mem_kb,
    })
    assert(!JSON.stringify(result).includes('1234567'))
  })

  test('judge 4.4: a compile error carries the compiler’s output, and the same code is compiled once', async (t) => {
    const { url, ann } = await setup(t, { isShared: false })

    const first = await judge(url, ann, { code: 'int main(void) { return missing_name; }\n' })
    const second = await judge(url, ann, { code: 'int main(void) { return missing_name; }\n' })
    const metrics = await (await fetch(`${url}/metrics`, { headers: { accept: 'text/plain' } })).text()

    assert.equal(first.verdict, 'CE')
    assert.match(first.compile_output, /missing_name/)
    assert.deepEqual([second.verdict, second.compile_output], ['CE', first.compile_output])
    assert.deepEqual(first.tests, [])
    assert.match(metrics, /judge_compile_cache_total\{outcome="hit"\} 1/)
  })

  test('judge 4.5: a scoring problem reports points by group', async (t) => {
    const { url, ann } = await setup(t, { env: { JUDGE_SAMPLE_PROBLEMS: 'true' } })

    const all = await judge(url, ann, {
      problem_id: 'mill-stairs',
      language: 'python3',
      code: await sampleOf('mill-stairs', 'accepted/doubling.py'),
    })
    const part = await judge(url, ann, {
      problem_id: 'mill-stairs',
      code: await sampleOf('mill-stairs', 'partially_accepted/table.c'),
    })

    assert.deepEqual([all.verdict, all.score], ['AC', 100])
    assert.deepEqual([part.verdict, part.score], ['AC', 70])
    assert.deepEqual(part.groups, [
      { name: 'secret/group1', verdict: 'AC', score: 30, max_score: 30 },
      { name: 'secret/group2', verdict: 'AC', score: 40, max_score: 40 },
      { name: 'secret/group3', verdict: 'WA', score: 0, max_score: 30 },
    ])
  })

  test('judge 4.6: a language can have its own time limit', async (t) => {
    const { url, ann } = await setup(t)
    const yaml = 'name: Slow\nlimits:\n  time_limit: 0.2\n  time_limits:\n    python3: 30\n'
    await putProblem(url, 'slow', packageOf(packageFiles({ 'problem.yaml': yaml })))
    const c = '#include <time.h>\nint main(void) { while (clock() < CLOCKS_PER_SEC / 2); }\n'
    const python = 'import time\nwhile time.process_time() < 0.5: pass\nprint(2 * int(input()))\n'

    const [slow, slower] = await Promise.all([
      judge(url, ann, { problem_id: 'slow', code: c }),
      judge(url, ann, { problem_id: 'slow', language: 'python3', code: python }),
    ])

    assert.equal(slow.verdict, 'TLE')
    assert.equal(slower.verdict, 'AC')
    assert(slower.time_ms >= 500)
  })
})

describe('judge SE', { skip: cannotTest }, () => {
  const GHOST = {
    ghost: {
      name: 'Ghost',
      extensions: ['.ghost'],
      source: 'main.ghost',
      version: ['gcc', '--version'],
      run: ['{dir}/nothing'],
    },
  }

  test('judge 4.7: a sandbox failure is retried, and after the last attempt the verdict is SE with the reason', async (t) => {
    const folder = await temporaryFolder(t)
    const file = path.join(folder, 'languages.json')
    await writeFile(file, JSON.stringify(GHOST))
    const { url, ann } = await setup(t, { folder, env: { JUDGE_LANGUAGES_FILE: file, JOB_MAX_ATTEMPTS: '3' } })

    const result = await judge(url, ann, { language: 'ghost', code: 'boo' })
    const list = await ask(`${url}/submissions`, { headers: ann })

    assert.deepEqual([result.verdict, result.status_text, result.attempt_id], ['SE', 'System Error', 3])
    assert.match(result.reason, /execve.*nothing.*ENOENT/)
    assert.deepEqual([result.tests, result.time_ms, result.mem_kb], [[], 0, 0])
    assert.equal(list.body.submissions[0].verdict, 'SE')
  })

  test('judge 4.8: a crashing validator is SE at once, and the reason says so', async (t) => {
    const lines: string[] = []
    const { url, ann } = await setup(t, { lines })
    const files = packageFiles({
      'problem.yaml': 'name: Broken\nvalidation: custom\n',
      'output_validators/validate.py': 'raise Exception("I am lost")\n',
    })
    assert.equal((await putProblem(url, 'broken', packageOf(files))).status, 201)

    const result = await judge(url, ann, { problem_id: 'broken', code: TWICE.accepted })

    assert.deepEqual([result.verdict, result.attempt_id], ['SE', 1])
    assert.equal(result.reason, 'The output validator ended with 1.') // nothing of the jury's source
    assert(lines.some((line) => line.includes('I am lost') && line.includes(result.job_id)))
  })

  test('judge 4.9: a submission that an admin cancels is FINISHED with SE and the reason', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve' })
    const { body } = await submit(url, ann, { code: TWICE.accepted })
    const admin = await account(url, 'root', ['ADMIN'])

    await ask(`${url}/admin/jobs/${body.job_id}/cancel`, { body: { reason: 'contest is over' }, headers: admin })
    const result = await judged(url, ann, body.job_id)

    assert.deepEqual([result.verdict, result.reason], ['SE', 'contest is over'])
  })

  test('judge 4.10: a replayed submission is a new one, judged and listed like any other', async (t) => {
    const server = await setup(t, { role: 'serve' })
    const { url, ann } = server
    const admin = await account(url, 'root', ['ADMIN'])
    const { body } = await submit(url, ann, { code: TWICE.accepted })
    await ask(`${url}/admin/jobs/${body.job_id}/cancel`, { body: {}, headers: admin })

    const replayed = await ask(`${url}/admin/jobs/${body.job_id}/replay`, { method: 'POST', headers: admin })
    await startServer(t, { on: server.at, folder: server.folder, role: 'work' })
    const result = await judged(url, ann, replayed.body.job_id)
    const list = await ask(`${url}/submissions`, { headers: ann })

    assert.notEqual(replayed.body.job_id, body.job_id)
    assert.equal(result.verdict, 'AC')
    assert.deepEqual(
      list.body.submissions.map((one: { verdict: string }) => one.verdict),
      ['AC', 'SE'],
    )
  })
})

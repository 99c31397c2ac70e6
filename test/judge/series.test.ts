// One program on many tests with one command: what the box runs by itself, and what the judge makes of it.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import type { RunReport } from '../../src/doors/judge/sandbox/box.ts'
import { judge, openTestWorker } from './judge-worker.ts'
import { LIMITS, SAFETY, setup, workFolder } from './rig.ts'

describe('a series', SAFETY, () => {
  /** `cat` on these inputs, with these answers. */
  const series = async (
    t: TestContext,
    tests: readonly (readonly [input: string, answer: string])[],
    { mode = 'agent', program = 'cat' }: { mode?: 'agent' | 'exec'; program?: string } = {},
  ) => {
    const files = Object.fromEntries(
      tests.flatMap(([input, answer], n) => [
        [`${n}.in`, input],
        [`${n}.ans`, answer],
      ]),
    )
    const data = workFolder(t, files)
    const { box } = await setup(t, { mode })
    const reports: RunReport[] = []
    const request = {
      jobId: 'series',
      attemptId: 1,
      argv: ['/bin/sh', '-c', program],
      env: { PATH: '/usr/bin:/bin' },
      stdoutPath: join(data, 'output'),
      stderrPath: null,
      ...LIMITS,
      tests: tests.map((_, n) => ({ inputPath: join(data, `${n}.in`), answerPath: join(data, `${n}.ans`) })),
    }
    await box.runSeries(request, (report) => reports.push(report))
    return { box, request, said: reports.map(({ verdict, same }) => `${verdict} ${same}`) }
  }

  test('goes on while outputs equal the answers byte for byte, and stops at the first that does not', async (t) => {
    const all = await series(t, [
      ['1\n', '1\n'],
      ['', ''],
      ['3\n', '3\n'],
    ])
    const some = await series(t, [
      ['1\n', '1\n'],
      ['2', '2\n'],
      ['3\n', '3\n'],
    ])

    assert.deepEqual(all.said, ['OK true', 'OK true', 'OK true'])
    assert.deepEqual(some.said, ['OK true', 'OK false'])
  })

  test('stops at a run that does not end normally, whatever it wrote', async (t) => {
    const crash = await series(
      t,
      [
        ['1\n', '1\n'],
        ['2\n', '2\n'],
      ],
      { program: 'cat; exit 3' },
    )
    const slow = await series(
      t,
      [
        ['1\n', '1\n'],
        ['2\n', '2\n'],
      ],
      { program: 'cat; while :; do :; done' },
    )

    assert.deepEqual(crash.said, ['RE false'])
    assert.deepEqual(slow.said, ['TLE false'])
  })

  test('leaves a large output to the judge, and its box to the next run', async (t) => {
    const large = 'x'.repeat(70_000)
    const { box, request, said } = await series(t, [
      [large, large],
      ['2\n', '2\n'],
    ])

    const next = await box.run({ ...request, stdinPath: null })

    assert.deepEqual(said, ['OK false'])
    assert.equal(next.verdict, 'OK')
    assert.equal(next.same, false)
  })

  test('is one run where every run has a helper of its own', async (t) => {
    const { said } = await series(
      t,
      [
        ['1\n', '1\n'],
        ['2\n', '2\n'],
      ],
      { mode: 'exec' },
    )

    assert.deepEqual(said, ['OK true'])
  })
})

describe('tests that run as a series', SAFETY, () => {
  const TESTS = 20
  const files = (more: Readonly<Record<string, string>> = {}) => ({
    ...more,
    ...Object.fromEntries(
      Array.from({ length: TESTS }, (_, n) => String(n + 1).padStart(2, '0')).flatMap((name) => [
        [`data/secret/${name}.in`, `${Number(name)}\n`],
        [`data/secret/${name}.ans`, `${2 * Number(name)}\n`],
      ]),
    ),
  })
  const c = (body: string) => ({
    language: 'c',
    code: `#include <stdio.h>\nint main(void) { int n; scanf("%d", &n); ${body} }\n`,
  })
  const verdicts = (tests: readonly { verdict: string; test: { name: string } }[]) =>
    tests.filter(({ test }) => test.name.startsWith('secret/')).map(({ verdict }) => verdict)

  test('are all judged, in order, whether outputs equal the answers byte for byte or not', async (t) => {
    const worker = await openTestWorker(t)

    const exact = await judge(t, worker, files(), c('printf("%d\\n", 2 * n);'))
    const spaced = await judge(t, worker, files(), c('printf(n % 3 ? "%d\\n" : " %d", 2 * n);'))

    for (const judged of [exact, spaced]) {
      assert.equal(judged.verdict, 'AC')
      assert.ok(judged.tests.length >= TESTS)
      assert.deepEqual(
        judged.tests.map(({ test }) => test.name),
        judged.tests.map(({ test }) => test.name).toSorted(),
      )
    }
  })

  test('end at the first that is wrong, or go on where the group says so', async (t) => {
    const worker = await openTestWorker(t)
    const wrong = c('printf("%d\\n", n == 2 || n == 17 ? 0 : 2 * n);')
    const scoring = files({
      'problem.yaml': 'type: scoring\n',
      'data/secret/testdata.yaml': 'on_reject: continue\ngrading: default\ngrader_flags: sum\n',
    })

    const first = await judge(t, worker, files(), wrong)
    const all = await judge(t, worker, scoring, wrong)

    assert.deepEqual(verdicts(first.tests), ['AC', 'WA'])
    const names = all.tests.filter(({ verdict }) => verdict === 'WA').map((tested) => tested.test.name)
    assert.deepEqual(names, ['secret/02', 'secret/17'])
    assert.equal(all.tests.length, Object.keys(scoring).filter((name) => name.endsWith('.in')).length + 3) // and the rig's own
  })

  test('are interrupted with the attempt, in the middle of a series too', async (t) => {
    const worker = await openTestWorker(t)
    const interruption = new AbortController()
    const slow = files({ 'problem.yaml': 'limits: {time_limit: 60}\n' })
    const context = { signal: interruption.signal, onTest: () => interruption.abort() }

    const interrupted = judge(t, worker, slow, {
      ...c('printf("%d\\n", 2 * n); fflush(stdout); if (n == 3) for (;;) continue;'),
      context,
    })

    await assert.rejects(interrupted, /interrupted/)
    assert.equal((await judge(t, worker, slow, c('printf("%d\\n", 2 * n);'))).verdict, 'AC')
  })
})

// Tests whose outputs are compared go to the box as a series: one command for many tests, where each would take a message to
// the helper and one back. The box goes on as long as outputs are the answers to the byte, which is what most runs of a right
// program are; whatever differs ends the series, is compared here, and the next test begins another series.
import type { Test } from '../package/package.ts'
import { SERIES_MAX, type RunReport } from '../sandbox/box.ts'
import { runSeries } from './box-run.ts'
import { contestantRun, type TestRun } from './test-run.ts'

export interface TestSeries {
  /** Of tests in the order of the package. A report that is not `same` leaves its output in the slot's file. */
  run(testRun: TestRun, test: Test): Promise<RunReport>
}

/** Samples show their output: each runs by itself. */
export const isInSeries = ({ problem }: Pick<TestRun, 'problem'>, test: Test): boolean =>
  !test.isSample && problem.package.validator === null && problem.package.passesMax === 1

export function openTestSeries(order: readonly Test[]): TestSeries {
  const coming = new Map<Test, Promise<RunReport | null>>()

  const start = (testRun: TestRun, first: Test) => {
    const at = order.indexOf(first)
    const tests = order.slice(at, at + SERIES_MAX)
    const end = tests.findIndex((test) => !isInSeries(testRun, test))
    const deferred = (end === -1 ? tests : tests.slice(0, end)).map((test) => deferredReport(test))
    coming.clear()
    for (const { test, report } of deferred) coming.set(test, report)
    runInBox(testRun, deferred)
  }

  return {
    async run(testRun, test) {
      for (;;) {
        if (!coming.has(test)) start(testRun, test)
        const report = await coming.get(test)
        coming.delete(test)
        if (report === null || report === undefined) continue // the series ended before it
        if (!report.same) coming.clear()
        return report
      }
    },
  }
}

interface DeferredReport {
  test: Test
  /** Null: the box did not run it. */
  report: Promise<RunReport | null>
  resolve(report: RunReport | null): void
  reject(error: unknown): void
}

function deferredReport(test: Test): DeferredReport {
  let resolve: DeferredReport['resolve'] = () => {}
  let reject: DeferredReport['reject'] = () => {}
  const report = new Promise<RunReport | null>((...settle) => ([resolve, reject] = settle))
  report.catch(() => {}) // of a test that nobody has asked for yet
  return { test, report, resolve, reject }
}

function runInBox(testRun: TestRun, deferred: readonly DeferredReport[]): void {
  const { scope, contestantBox, slot } = testRun
  const { stdinPath: _, ...spec } = contestantRun(testRun, {
    stdinPath: null,
    stdoutPath: slot.files.output,
    stderrPath: null,
  })
  const tests = deferred.map(({ test: { inputPath, answerPath } }) => ({ inputPath, answerPath }))
  let reports = 0
  void runSeries(scope, contestantBox, { ...spec, tests }, (report) => {
    deferred[reports]?.resolve(report)
    reports += 1
  }).then(
    () => {
      for (const { resolve } of deferred.slice(reports)) resolve(null)
    },
    (error: unknown) => {
      for (const { reject } of deferred.slice(reports)) reject(error)
    },
  )
}

// One program run in a box: counted, timed, and interrupted with the attempt. A failure of the sandbox itself is thrown: it
// says nothing about the program.
import type { Logger } from 'pino'
import { execResultOf, type ExecResult, type JudgeMeter } from '../metrics.ts'
import type { Box, RunReport, RunRequest, SeriesRequest } from '../sandbox/box.ts'

const STARVED_TRIES_MAX = 3

/** Why judging cannot go on here and now: another attempt may succeed. */
export class JudgeFailure extends Error {
  override name = 'JudgeFailure'
  /** It is the problem's fault: no attempt will succeed. */
  readonly final: boolean
  /** For the log and the problem's author: it may show the jury's source, which contestants must not see. */
  readonly detail: string

  constructor(message: string, options: { final?: boolean; detail?: string } = {}) {
    super(message)
    this.final = options.final ?? false
    this.detail = options.detail ?? ''
  }
}

/** Thrown when the lease is lost: whatever was found out is void. */
export class Interrupted extends Error {
  override name = 'Interrupted'
}

/** What an attempt's runs have in common. */
export interface RunScope {
  jobId: string
  attemptId: number
  meter: JudgeMeter
  log: Logger
  signal: AbortSignal
  /** Some run was not limited by a cgroup. */
  degraded: boolean
}

export type RunSpec = Omit<RunRequest, 'jobId' | 'attemptId'>
export type SeriesSpec = Omit<SeriesRequest, 'jobId' | 'attemptId'>

export async function runOnce(scope: RunScope, box: Box, spec: RunSpec): Promise<RunReport> {
  const { jobId, attemptId, meter } = scope
  throwIfInterrupted(scope)
  const started = performance.now()
  let result: ExecResult | null = null
  meter.runStarted()
  try {
    const report = await box.run({ jobId, attemptId, ...spec })
    result = resultOf(scope, report)
    return report
  } catch (error) {
    const reason = reasonOf(scope, error)
    if (!(reason instanceof Interrupted)) result = 'error'
    throw reason
  } finally {
    meter.runEnded(result, (performance.now() - started) / 1000)
  }
}

/** One program on several tests, as far as the box runs them. Reports come several at a time, so they tell how long a run took. */
export async function runSeries(
  scope: RunScope,
  box: Box,
  spec: SeriesSpec,
  onReport: (report: RunReport) => void,
): Promise<void> {
  const { jobId, attemptId, meter } = scope
  throwIfInterrupted(scope)
  let left = spec.tests.length
  let isRunning = true
  let result: ExecResult | null = null
  meter.runStarted()
  try {
    await box.runSeries({ jobId, attemptId, ...spec }, (report) => {
      meter.runEnded(resultOf(scope, report), report.wallMs / 1000)
      left -= 1
      isRunning = report.same && left > 0
      if (isRunning) meter.runStarted()
      onReport(report)
    })
  } catch (error) {
    const reason = reasonOf(scope, error)
    if (!(reason instanceof Interrupted)) result = 'error'
    throw reason
  } finally {
    if (isRunning) meter.runEnded(result, 0)
  }
}

/** Throws what says nothing about the program. */
function resultOf(scope: RunScope, report: RunReport): ExecResult {
  throwIfInterrupted(scope)
  if (report.verdict === 'SE') throw new JudgeFailure(`The sandbox failed: ${report.sandboxError}`)
  if (report.degraded) scope.degraded = true
  return execResultOf(report.verdict)
}

function reasonOf({ signal, log }: RunScope, error: unknown): unknown {
  if (signal.aborted) return new Interrupted('The attempt was interrupted.')
  log.error({ err: error }, 'a run failed in the sandbox')
  return error
}

function throwIfInterrupted({ signal }: RunScope): void {
  if (signal.aborted) throw new Interrupted('The attempt was interrupted.')
}

/** Again while the machine was too busy for the result to mean anything. */
export async function unstarved<Result extends { starved: boolean }>(
  scope: RunScope,
  run: () => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    const result = await run()
    if (!result.starved) return result
    scope.log.warn({ tries }, 'a run did not get a processor in time')
    if (tries === STARVED_TRIES_MAX) throw new JudgeFailure('The machine is too busy to judge.')
  }
}

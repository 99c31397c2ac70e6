// The metrics of the judge itself (docs/judge.md, 7.1); those of claims, leases and results are in core/executor/metrics.ts.
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Metrics } from '../../core/metrics.ts'
import type { RunReport } from './sandbox/box.ts'
import type { ProtocolReason } from './sandbox/sandbox-error.ts'

export type JudgeMetrics = ReturnType<typeof openJudgeMetrics>

export type ExecResult = 'ok' | 'reject' | 'error' | 'timeout'

/** What judging reports. It may run in another thread than the metrics. */
export interface JudgeMeter {
  runStarted(): void
  /** Null: it was interrupted. */
  runEnded(result: ExecResult | null, seconds: number): void
  /** A box was open for so long, whatever ran in it. */
  boxClosed(seconds: number): void
  protocolError(reason: ProtocolReason): void
  truncated(stream: 'stdout' | 'stderr'): void
  cacheLookup(outcome: 'hit' | 'miss'): void
}

export function openJudgeMetrics(registry: Metrics) {
  const registers = [registry]
  return {
    duration: new Histogram({
      name: 'judge_exec_duration_seconds',
      help: 'One program run in a box, by how it ended.',
      labelNames: ['result'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    inFlight: new Gauge({ name: 'judge_exec_inflight', help: 'Programs that run in boxes now.', registers }),
    runs: new Counter({
      name: 'judge_exec_total',
      help: 'Programs run in boxes, by how they ended.',
      labelNames: ['result'],
      registers,
    }),
    boxSeconds: new Counter({
      name: 'judge_box_seconds_total',
      help: 'Seconds that boxes were open. Divided by slots: the share of time that a slot has one.',
      registers,
    }),
    verdicts: new Counter({
      name: 'judge_verdict_total',
      help: 'Submissions judged, by verdict.',
      labelNames: ['verdict'],
      registers,
    }),
    protocolErrors: new Counter({
      name: 'judge_protocol_errors_total',
      help: 'Lines of the sandbox that were not what they should be, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    truncated: new Counter({
      name: 'judge_output_truncated_total',
      help: 'Outputs of the sandbox that were longer than their limit, by stream.',
      labelNames: ['stream'],
      registers,
    }),
    cacheLookups: new Counter({
      name: 'judge_compile_cache_total',
      help: 'Programs asked for, by whether they had been compiled before.',
      labelNames: ['outcome'],
      registers,
    }),
  }
}

export const meterOf = (metrics: JudgeMetrics): JudgeMeter => ({
  runStarted: () => metrics.inFlight.inc(),
  runEnded(result, seconds) {
    metrics.inFlight.dec()
    if (result === null) return
    metrics.runs.inc({ result })
    metrics.duration.observe({ result }, seconds)
  },
  boxClosed: (seconds) => metrics.boxSeconds.inc(seconds),
  protocolError: (reason) => metrics.protocolErrors.inc({ reason }),
  truncated: (stream) => metrics.truncated.inc({ stream }),
  cacheLookup: (outcome) => metrics.cacheLookups.inc({ outcome }),
})

/** For commands that have no metrics. */
export const silentMeter: JudgeMeter = {
  runStarted() {},
  runEnded() {},
  boxClosed() {},
  protocolError() {},
  truncated() {},
  cacheLookup() {},
}

/** Value of the label `result`. */
export function execResultOf(verdict: RunReport['verdict']): ExecResult {
  switch (verdict) {
    case 'OK':
      return 'ok'
    case 'TLE':
      return 'timeout'
    case 'SE':
      return 'error'
    case 'MLE':
    case 'OLE':
    case 'RE':
      return 'reject'
  }
}

import { Counter, Gauge, Histogram } from 'prom-client'
import type { Metrics } from '../metrics.ts'

const RECORDED = { status: 'ok' }
const LATENCY_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000]

export type ExecutorMetrics = ReturnType<typeof openExecutorMetrics>

/** The names are those of docs/judge.md and serve every kind of job. */
export function openExecutorMetrics(registry: Metrics) {
  const registers = [registry]
  return {
    ...openSlotMetrics(registers),
    ...openResultMetrics(registers),
    claims: new Counter({
      name: 'worker_claim_total',
      help: 'Attempts to acquire a job, by outcome.',
      labelNames: ['status', 'reason'],
      registers,
    }),
    heartbeats: new Counter({
      name: 'worker_lease_heartbeat_total',
      help: 'Renewals of a lease, by outcome.',
      labelNames: ['status', 'reason'],
      registers,
    }),
    stale: new Counter({
      name: 'worker_stale_attempt_total',
      help: 'Results refused because a newer attempt owns the job.',
      registers,
    }),
    finalizeErrors: new Counter({
      name: 'worker_finalize_errors_total',
      help: 'Results that could not be recorded because the database failed.',
      registers,
    }),
    finalizeLatency: new Histogram({
      name: 'worker_finalize_latency_ms',
      help: 'From the end of the work to its commit.',
      buckets: LATENCY_MS,
      registers,
    }),
    reclaims: new Counter({
      name: 'worker_reclaim_total',
      help: 'Attempts to take over abandoned jobs, by outcome.',
      labelNames: ['status', 'reason'],
      registers,
    }),
    reclaimLatency: new Histogram({
      name: 'worker_reclaim_latency_ms',
      help: 'Time of a pass that looks for abandoned jobs and takes them over.',
      buckets: LATENCY_MS,
      registers,
    }),
    reclaimsInFlight: new Gauge({
      name: 'worker_reclaim_inflight',
      help: 'Jobs that were taken over and are still in progress.',
      registers,
    }),
    failures: new Counter({
      name: 'worker_failures_total',
      help: 'Attempts that failed, by kind and by what became of the job.',
      labelNames: ['kind', 'outcome'],
      registers,
    }),
  }
}

function openSlotMetrics(registers: Metrics[]) {
  /** Of each kind, the slots that are taken now. */
  const busySlots = new Map<string, () => number>()
  return {
    busySlots,
    attempts: new Counter({
      name: 'worker_attempts_total',
      help: 'Attempts that this process began, by kind.',
      labelNames: ['kind'],
      registers,
    }),
    slots: new Gauge({
      name: 'worker_slots',
      help: 'Jobs of a kind that this process can run at a time. 0: it does not run them. Those of `judge` are sandboxes.',
      labelNames: ['kind'],
      registers,
    }),
    slotsBusy: new Gauge({
      name: 'worker_slots_busy',
      help: 'Slots that are taken now.',
      labelNames: ['kind'],
      registers,
      collect() {
        for (const [kind, count] of busySlots) this.set({ kind }, count())
      },
    }),
  }
}

function openResultMetrics(registers: Metrics[]) {
  let recorded = 0 // since the counter was read: to look up its labels costs more than to add one
  return {
    /** A result was recorded. */
    countRecorded(): void {
      recorded += 1
    },
    finalizes: new Counter({
      name: 'worker_finalize_total',
      help: 'Results sent to the ledger, by outcome.',
      labelNames: ['status'],
      registers,
      collect() {
        this.inc(RECORDED, recorded)
        recorded = 0
      },
    }),
    finalizeRejections: new Counter({
      name: 'worker_finalize_rejected_total',
      help: 'Results that the ledger refused, by reason.',
      labelNames: ['reason'],
      registers,
    }),
  }
}

import { Counter, Gauge, Histogram } from 'prom-client'
import type { Database } from '../db/database.ts'
import { BATCH_TOPIC } from '../ledger/submit/insert-jobs.ts'
import type { Metrics } from '../metrics.ts'

const COUNT_PENDING = `
  select coalesce(sum(case when topic = '${BATCH_TOPIC}' then json_array_length(payload) else 1 end), 0)::integer as count
    from outbox_events where status = 'pending'`

export type OutboxMetrics = ReturnType<typeof openOutboxMetrics>

/** The names are those of docs/judge.md, D1. */
export function openOutboxMetrics(registry: Metrics, database: Database) {
  const registers = [registry]
  return {
    dispatched: new Counter({
      name: 'api_outbox_dispatch_total',
      help: 'Rows of the outbox that were tried, by outcome.',
      labelNames: ['status', 'reason'],
      registers,
    }),
    latency: new Histogram({
      name: 'api_outbox_dispatch_latency_seconds',
      help: 'One batch, from its claim to its commit.',
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
      registers,
    }),
    pending: new Gauge({
      name: 'api_outbox_pending',
      help: 'Deliveries that wait: rows, and where a row announces several jobs, those.',
      registers,
      async collect() {
        const [row] = await database.query<{ count: number }>(COUNT_PENDING)
        this.set(row?.count ?? 0)
      },
    }),
  }
}

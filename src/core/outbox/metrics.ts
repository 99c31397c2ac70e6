import { Counter, Histogram } from 'prom-client'
import type { Database } from '../db/database.ts'
import { BATCH_TOPIC } from '../ledger/submit/insert-jobs.ts'
import { sampledGauges, type Metrics } from '../metrics.ts'

const COUNTED_MAX = 100_000
const COUNTED_PER_TOPIC_MAX = 10_000

const COUNT_PENDING = `
  select coalesce(sum(case when topic = '${BATCH_TOPIC}' then json_array_length(payload) else 1 end), 0)::integer as count
    from (select topic, payload from outbox_events where status = 'pending' limit ${COUNTED_MAX}) as r`

const BY_TOPIC = `
  select asked.topic, waiting.count as pending, waiting.oldest_sec, dead.count as dead
    from unnest($1::text[]) as asked (topic)
   cross join lateral (
         select count(*)::integer as count,
                coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as oldest_sec
           from (select created_at from outbox_events where status = 'pending' and topic = asked.topic
                  order by next_attempt_at limit ${COUNTED_PER_TOPIC_MAX}) as r) as waiting
   cross join lateral (
         select count(*)::integer as count
           from (select from outbox_events where status = 'dead' and topic = asked.topic
                  limit ${COUNTED_PER_TOPIC_MAX}) as r) as dead`

type TopicSample = { topic: string; pending: number; oldest_sec: number; dead: number }

export type OutboxMetrics = ReturnType<typeof openOutboxMetrics>

/** The names are those of docs/judge.md, D1. */
export function openOutboxMetrics(registry: Metrics) {
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
  }
}

/** What waits in the outbox, all processes together. */
export function openOutboxGauges(registry: Metrics, database: Database, topics: readonly string[]): void {
  sampledGauges(registry, 'outbox_pending', () => database.query<{ count: number }>(COUNT_PENDING), [
    {
      name: 'api_outbox_pending',
      help: `Deliveries that wait: rows, and where a row announces several jobs, those. Of ${COUNTED_MAX} rows at most.`,
      values: ([row]) => [{ value: row?.count ?? 0 }],
    },
  ])
  const asked = [...new Set(topics)]
  const byTopic = (value: (sample: TopicSample) => number) => (samples: readonly TopicSample[]) =>
    samples.map((one) => ({ labels: { topic: one.topic }, value: value(one) }))
  sampledGauges(registry, 'outbox', () => database.query<TopicSample>(BY_TOPIC, [asked]), [
    {
      name: 'reeve_outbox_pending',
      help: `Rows of the outbox that wait, by topic. At most ${COUNTED_PER_TOPIC_MAX} are counted.`,
      labelNames: ['topic'],
      values: byTopic(({ pending }) => pending),
    },
    {
      name: 'reeve_outbox_lag_seconds',
      help: 'Age of the oldest row that waits, by topic. 0: none waits.',
      labelNames: ['topic'],
      values: byTopic(({ oldest_sec: seconds }) => Math.max(0, seconds)),
    },
    {
      name: 'reeve_outbox_dead',
      help: `Dead letters, by topic. At most ${COUNTED_PER_TOPIC_MAX} are counted.`,
      labelNames: ['topic'],
      values: byTopic(({ dead }) => dead),
    },
  ])
}

// Metrics of the whole desk. Those of one operator are for admins (supervision/operators.ts): a label must have few values.
import { Counter, Histogram } from 'prom-client'
import type { Database } from '../../core/db/database.ts'
import { sampledGauges, type Metrics } from '../../core/metrics.ts'
import { STATUS } from './tasks/task.ts'

const COUNT_OPEN = `select ${STATUS} as state, count(*)::integer as count from captcha_task t where t.ended_at is null group by 1`

const OUTCOMES = [
  'created',
  'claimed',
  'released',
  'lapsed',
  'stolen',
  'solved',
  'unsolvable',
  'failed',
  'expired',
  'reported_bad',
] as const
export type TaskOutcome = (typeof OUTCOMES)[number]

const SECONDS = [1, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200]

export type DeskMetrics = ReturnType<typeof openDeskMetrics>

export function openDeskMetrics(registry: Metrics, database: Database) {
  const registers = [registry]
  sampledGauges(registry, 'desk_tasks', () => database.query<{ state: string; count: number }>(COUNT_OPEN), [
    {
      name: 'desk_tasks_open',
      help: 'Tasks that have not ended.',
      labelNames: ['state'],
      values: (counts) => counts.map(({ state, count }) => ({ labels: { state }, value: count })),
    },
  ])
  return {
    tasks: new Counter({
      name: 'desk_tasks_total',
      help: `Changes of tasks: ${OUTCOMES.join(', ')}.`,
      labelNames: ['outcome'],
      registers,
    }),
    claim: new Histogram({
      name: 'desk_claim_seconds',
      help: 'How long a task had waited when somebody claimed it.',
      buckets: SECONDS,
      registers,
    }),
    solve: new Histogram({
      name: 'desk_solve_seconds',
      help: 'How long a task had been held when it was solved.',
      buckets: SECONDS,
      registers,
    }),
    frames: new Counter({
      name: 'desk_frame_requests_total',
      help: 'Requests of the solver frame, by what came of them.',
      labelNames: ['outcome'],
      registers,
    }),
  }
}

export const secondsBetween = (from: Date | null, to: Date): number | null =>
  from === null ? null : Math.max(0, (to.getTime() - from.getTime()) / 1000)

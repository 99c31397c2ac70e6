import { Counter, Gauge } from 'prom-client'
import type { Database } from '../../core/db/database.ts'
import { sampledGauges, type Metrics } from '../../core/metrics.ts'

const COUNT_TASKS = `
  select case when worker_id is null then 'waiting' else 'held' end as state, count(*)::integer as count
    from pool_tasks group by 1`

const COUNT_WORKERS = `
  select case when banned_at is not null then 'banned'
              when last_seen_at > clock_timestamp() - $1 * interval '1 second' then 'online' else 'offline' end as state,
         count(*)::integer as count
    from pool_workers where removed_at is null group by 1`

export type StateCount = { state: string; count: number }

export const countTasks = (database: Database): Promise<StateCount[]> => database.query<StateCount>(COUNT_TASKS)

export const countWorkers = (database: Database, leaseSec: number): Promise<StateCount[]> =>
  database.query<StateCount>(COUNT_WORKERS, [leaseSec])

export type PoolMetrics = ReturnType<typeof openPoolMetrics>

export interface PoolMetricsDeps {
  metrics: Metrics
  database: Database
  leaseSec: number
  /** Polls that wait in this process. */
  waiting: () => number
}

export function openPoolMetrics({ metrics, database, leaseSec, waiting }: PoolMetricsDeps) {
  const registers = [metrics]
  const gauge = (name: string, help: string, states: readonly string[], count: () => Promise<StateCount[]>) =>
    sampledGauges(metrics, name, count, [{ name, help, labelNames: ['state'], values: valuesOf(states) }])
  gauge('pool_tasks', 'Jobs, replicas and canaries that have not ended, by state.', ['waiting', 'held'], () =>
    countTasks(database),
  )
  gauge('pool_workers', 'Registered workers, by state.', ['online', 'offline', 'banned'], () =>
    countWorkers(database, leaseSec),
  )
  const polls = new Gauge({
    name: 'pool_polls_waiting',
    help: 'Long polls that wait in this process.',
    registers: [],
    collect() {
      this.set(waiting())
    },
  })
  metrics.registerMetric(polls)
  return {
    assigned: new Counter({
      name: 'pool_assignments_total',
      help: 'Assignments made, by what was given out.',
      labelNames: ['kind'],
      registers,
    }),
    polls: new Counter({
      name: 'pool_polls_total',
      help: 'Polls answered, by result: new, same, nothing.',
      labelNames: ['result'],
      registers,
    }),
    submits: new Counter({
      name: 'pool_submits_total',
      help: 'Results handed in, by what became of them.',
      labelNames: ['outcome'],
      registers,
    }),
  }
}

/** A state that nothing is in has the value 0. */
const valuesOf = (states: readonly string[]) => (counts: readonly StateCount[]) =>
  states.map((state) => ({ labels: { state }, value: counts.find((one) => one.state === state)?.count ?? 0 }))

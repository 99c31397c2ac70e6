// Jobs by kind, as Prometheus sees them. Every process exports the same numbers: they are the database's, not the process's.
import type { Database } from '../../db/database.ts'
import { sampledGauges, type GaugeValue, type Metrics } from '../../metrics.ts'
import { sampleKinds, type KindSample } from './sample.ts'

const COUNTED_MAX = 10_000

const DELAYED = `
  select kind, count(*)::integer as count
    from (select kind from jobs where due_at is not null limit ${COUNTED_MAX}) as r group by kind`

// The kinds are found one by one in the index of dead jobs.
const DEAD = `
  with recursive kinds (kind) as (
    (select kind from jobs where reason is not null order by kind limit 1)
    union all
    select (select kind from jobs where reason is not null and kind > kinds.kind order by kind limit 1)
      from kinds where kinds.kind is not null
  )
  select kinds.kind, dead.count
    from kinds
   cross join lateral (
         select count(*)::integer as count
           from (select from jobs where reason is not null and kind = kinds.kind limit ${COUNTED_MAX}) as r) as dead
   where kinds.kind is not null`

type KindCount = { kind: string; count: number }

interface JobsSample {
  live: readonly KindSample[]
  delayed: readonly KindCount[]
  dead: readonly KindCount[]
}

export interface JobMetricsDeps {
  database: Database
  /** Those of this process: they have a value even when there is no job. */
  kinds: () => readonly string[]
}

export function openJobMetrics(registry: Metrics, { database, kinds }: JobMetricsDeps): void {
  const sample = async (): Promise<JobsSample> => {
    const live = await sampleKinds(database)
    const delayed = await database.query<KindCount>(DELAYED)
    const dead = await database.query<KindCount>(DEAD)
    const idle = kinds().filter((kind) => !live.some((one) => one.kind === kind))
    return { live: [...live, ...idle.map(nothingOf)], delayed, dead }
  }
  const ofKind = (value: (kind: KindSample) => number) => (taken: JobsSample) =>
    taken.live.map((one) => ({ labels: { kind: one.kind }, value: value(one) }))

  sampledGauges(registry, 'jobs', sample, [
    {
      name: 'reeve_jobs',
      help: `Jobs that have not ended, and dead ones, by kind and state. At most ${COUNTED_MAX} of each kind are counted.`,
      labelNames: ['kind', 'state'],
      values: jobsByState,
    },
    {
      name: 'reeve_jobs_oldest_waiting_seconds',
      help: 'Age of the oldest job that is ready and waits. 0: none waits.',
      labelNames: ['kind'],
      values: ofKind(({ oldestSec }) => Math.max(0, oldestSec ?? 0)),
    },
    {
      name: 'reeve_jobs_attempts_max',
      help: 'Highest number of attempts that a job has had which has not ended.',
      labelNames: ['kind'],
      values: ofKind(({ attemptsMax }) => attemptsMax),
    },
  ])
}

const nothingOf = (kind: string): KindSample => ({
  kind,
  waiting: 0,
  running: 0,
  abandoned: 0,
  attemptsMax: 0,
  oldestAt: null,
  oldestSec: null,
})

function jobsByState({ live, delayed, dead }: JobsSample): GaugeValue[] {
  const known = new Set([...live, ...delayed, ...dead].map(({ kind }) => kind))
  return [...known].flatMap((kind) => {
    const { waiting, running, abandoned } = live.find((one) => one.kind === kind) ?? nothingOf(kind)
    const states = {
      waiting,
      running: running - abandoned,
      abandoned,
      delayed: countOf(delayed, kind),
      dead: countOf(dead, kind),
    }
    return Object.entries(states).map(([state, value]) => ({ labels: { kind, state }, value }))
  })
}

const countOf = (counts: readonly KindCount[], kind: string): number =>
  counts.find((one) => one.kind === kind)?.count ?? 0

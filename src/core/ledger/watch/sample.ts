// How the ledger is doing, in a few numbers and in bounded time: three statements, each of which reads a limited number of rows.
import type { Queryable } from '../../db/database.ts'

export const COUNTED_MAX = 10_000
const RECENT_MAX = 3000

// Kinds are found one by one in the index of live rows.
const BY_KIND = `
  with recursive kinds (kind) as (
    (select kind from jobs where finished_at is null and due_at is null order by kind limit 1)
    union all
    select (select kind from jobs where finished_at is null and due_at is null and kind > kinds.kind order by kind limit 1)
      from kinds where kinds.kind is not null
  )
  select kinds.kind, live.*
    from kinds
   cross join lateral (
         select count(*) filter (where state = 'pending')::integer as waiting,
                count(*) filter (where state = 'processing')::integer as running,
                count(*) filter (where lease_until < clock_timestamp())::integer as abandoned,
                max(attempt_id) as attempts_max,
                min(submitted_at) filter (where state = 'pending') as oldest_at,
                extract(epoch from clock_timestamp() - min(submitted_at) filter (where state = 'pending'))::float8 as oldest_sec
           from (select state, lease_until, attempt_id, submitted_at from jobs
                  where kind = kinds.kind and finished_at is null and due_at is null
                  order by rank, job_id limit ${COUNTED_MAX}) as r) as live
   where kinds.kind is not null`

// Ids begin with their time: the newest jobs are the end of the primary key.
const RECENT = `
  select count(*)::integer as jobs,
         count(*) filter (where submitted_at > clock_timestamp() - interval '5 seconds')::integer as submitted,
         count(*) filter (where state = 'done' and finished_at > clock_timestamp() - interval '5 seconds')::integer as done,
         count(*) filter (where state = 'dead' and finished_at > clock_timestamp() - interval '5 seconds')::integer as dead,
         extract(epoch from clock_timestamp() - min(submitted_at))::float8 as span_sec,
         percentile_cont(array[0.5, 0.95, 0.99]) within group (
           order by extract(epoch from finished_at - submitted_at) * 1000) filter (where state = 'done') as latency_ms
    from (select submitted_at, finished_at, state from jobs where job_id >= $1 order by job_id desc limit ${RECENT_MAX}) as r`

const DEAD = `select count(*)::integer as dead from (select from jobs where reason is not null limit ${COUNTED_MAX + 1}) as r`

export interface KindSample {
  kind: string
  /** At most 10,000 jobs of a kind are counted. */
  waiting: number
  running: number
  /** Their lease has expired, and nobody has taken them yet. */
  abandoned: number
  /** The highest number of attempts that one of them has had. */
  attemptsMax: number
  /** When the oldest that waits was submitted. */
  oldestAt: Date | null
  /** Its age by the database's clock. */
  oldestSec: number | null
}

export interface LedgerSample {
  /** Jobs a second. */
  submitted: number
  done: number
  died: number
  /** From submit to end, of the newest jobs that are done. Null: there are none. */
  latencyMs: readonly [p50: number, p95: number, p99: number] | null
  kinds: KindSample[]
  /** At most 10,001 are counted. */
  dead: number
}

const WINDOW_SEC = 5

/** `since`: an id of about a minute ago. */
export async function sampleLedger(on: Queryable, since: string): Promise<LedgerSample> {
  type Recent = {
    submitted: number
    done: number
    dead: number
    jobs: number
    span_sec: number | null
    latency_ms: number[] | null
  }
  const [recent] = await on.query<Recent>(RECENT, [since])
  const [dead] = await on.query<{ dead: number }>(DEAD)
  const kinds = await sampleKinds(on)
  const isCut = recent !== undefined && recent.jobs >= RECENT_MAX
  const windowSec = isCut ? Math.min(WINDOW_SEC, Math.max(0.1, recent.span_sec ?? WINDOW_SEC)) : WINDOW_SEC
  const [p50, p95, p99] = recent?.latency_ms ?? []
  return {
    submitted: (recent?.submitted ?? 0) / windowSec,
    done: (recent?.done ?? 0) / windowSec,
    died: (recent?.dead ?? 0) / windowSec,
    latencyMs: p50 === undefined || p95 === undefined || p99 === undefined ? null : [p50, p95, p99],
    kinds,
    dead: dead?.dead ?? 0,
  }
}

/** The live jobs of every kind that has some. */
export async function sampleKinds(on: Queryable): Promise<KindSample[]> {
  const rows = await on.query<KindRow>(BY_KIND)
  return rows.map(({ attempts_max: attemptsMax, oldest_at: oldestAt, oldest_sec: oldestSec, ...kind }) => ({
    ...kind,
    attemptsMax,
    oldestAt,
    oldestSec,
  }))
}

interface KindRow extends Omit<KindSample, 'attemptsMax' | 'oldestAt' | 'oldestSec'> {
  attempts_max: number
  oldest_at: Date | null
  oldest_sec: number | null
}

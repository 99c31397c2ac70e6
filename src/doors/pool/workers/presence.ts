// A heartbeat or a poll marks a worker as seen, and reads who it is and what it was assigned last. A worker that waits in a
// long poll is online while its connection stands: all of those are marked together, three times a lease.
import { batched } from '../../../core/db/batch.ts'
import type { Database, Queryable } from '../../../core/db/database.ts'
import { isObject } from '../../../core/values/is-object.ts'
import { timestampText } from '../wire.ts'
import type { TrackRecord } from './reputation.ts'
import type { WorkerProfile } from '../tasks/requirements.ts'

// Rows are locked in the order of their ids, here and wherever several workers change in one statement, so that two such
// statements cannot deadlock. A worker that was seen less than $3 ms ago and holds nothing is only read.
const TOUCH = `
  with locked as materialized (
    select w.worker_id from json_to_recordset($1) as input (worker_id bigint, owner_id bigint)
      join pool_workers w on w.worker_id = input.worker_id and w.owner_id = input.owner_id
     where w.removed_at is null
       and (w.assignment_id is not null or w.last_seen_at is null or $3 = 0
            or w.last_seen_at < clock_timestamp() - $3 * interval '1 ms')
     order by w.worker_id for no key update of w
  ), marked as (
    update pool_workers w set last_seen_at = clock_timestamp() from locked where w.worker_id = locked.worker_id
    returning w.*
  ), touched as (
    select * from marked
    union all
    select w.* from json_to_recordset($1) as input (worker_id bigint, owner_id bigint)
      join pool_workers w on w.worker_id = input.worker_id and w.owner_id = input.owner_id
     where w.removed_at is null and not exists (select from locked where locked.worker_id = w.worker_id)
  )
  select t.worker_id, t.owner_id, t.region, t.specs, t.banned_at is not null as banned, t.canaries_passed, t.canaries_wrong,
         t.agreed, t.disagreed, t.proven, t.paused_at is not null as paused, t.lease_seconds,
         ${timestampText('t.last_seen_at')} as seen_at,
         ${timestampText(`t.last_seen_at + coalesce(a.lease_ms, 0) * interval '1 ms'`)} as lease_until, a.lease_ms,
         a.assignment_id, a.job_id, a.attempt_id, a.nonce, a.cost_hint,
         a.assigned_at < t.last_seen_at - $2 * interval '1 second' as held_too_long
    from touched t left join pool_assignments a on a.assignment_id = t.assignment_id`

const TOUCH_WAITING = `
  with locked as materialized (
    select worker_id from pool_workers where worker_id = any($1::bigint[]) order by worker_id for no key update skip locked
  )
  update pool_workers w set last_seen_at = clock_timestamp() from locked where w.worker_id = locked.worker_id`

const NAMES = `select from pool_workers where worker_id = $1 and assignment_id = $2`

const SEEN_FRESH_MS = 250

export interface HeldAssignment {
  assignmentId: number
  jobId: string
  attemptId: number
  nonce: string
  costHint: number
  leaseMs: number
  /** Held for longer than heartbeats may keep it. */
  isOverdue: boolean
}

export interface Worker extends WorkerProfile, TrackRecord {
  workerId: number
  ownerId: number
  isBanned: boolean
  isPaused: boolean
  seenAt: string
  /** The lease that it registered. Null: the default. */
  leaseSec: number | null
  /** The earliest end of the lease of its assignment if it is renewed now. */
  leaseUntil: string
  /** What it was assigned last and has not submitted. Whether it still holds it is for the ledger to decide. */
  held: HeldAssignment | null
}

export interface Presence {
  /** Null: unknown, or another owner's. */
  touch(workerId: number, ownerId: number): Promise<Worker | null>
  /** The same for a poll. Nothing that it answers depends on the mark being on disk, or newer than a moment. */
  touchForPoll(workerId: number, ownerId: number): Promise<Worker | null>
  touchWaiting(workerIds: readonly number[]): Promise<void>
  /** Whether the assignment is still what the worker was assigned last and has not submitted. */
  names(workerId: number, assignmentId: number): Promise<boolean>
}

/** The lease owner in the ledger. */
export const leaseOwner = (workerId: number): string => `worker:${workerId}`

export const workerOfLease = (owner: string | null): number | null => {
  const id = /^worker:(\d+)$/.exec(owner ?? '')?.[1]
  return id === undefined ? null : Number(id)
}

interface OwnedWorkerKey {
  workerId: number
  ownerId: number
}

export function openPresence({ database, holdSec }: { database: Database; holdSec: number }): Presence {
  const touchOn = (on: Queryable, freshMs: number) =>
    batched<OwnedWorkerKey, { worker: Worker | null }>({
      keyOf: ({ workerId }) => String(workerId),
      async run(keys) {
        const rows = await on.query<TouchedRow>(TOUCH, [
          JSON.stringify(keys.map(({ workerId, ownerId }) => ({ worker_id: workerId, owner_id: ownerId }))),
          holdSec,
          freshMs,
        ])
        const workerOf = new Map(rows.map((row) => [Number(row.worker_id), workerFrom(row)]))
        return keys.map(({ workerId }) => ({ worker: workerOf.get(workerId) ?? null }))
      },
    })
  const touch = touchOn(database.hot, 0)
  const touchForPoll = touchOn(database.asyncCommit, SEEN_FRESH_MS)
  return {
    touch: async (workerId, ownerId) => (await touch({ workerId, ownerId })).worker,
    touchForPoll: async (workerId, ownerId) => (await touchForPoll({ workerId, ownerId })).worker,
    touchWaiting: async (workerIds) => void (await database.hot.query(TOUCH_WAITING, [workerIds])),
    names: async (workerId, assignmentId) => (await database.hot.query(NAMES, [workerId, assignmentId])).length > 0,
  }
}

interface TouchedRow {
  worker_id: string
  owner_id: string
  region: string | null
  specs: unknown
  banned: boolean
  canaries_passed: number
  canaries_wrong: number
  agreed: number
  disagreed: number
  proven: number
  paused: boolean
  lease_seconds: number | null
  seen_at: string
  lease_until: string
  lease_ms: number | null
  assignment_id: string | null
  job_id: string | null
  attempt_id: number | null
  nonce: string | null
  cost_hint: number | null
  held_too_long: boolean | null
}

const workerFrom = (row: TouchedRow): Worker => ({
  workerId: Number(row.worker_id),
  ownerId: Number(row.owner_id),
  region: row.region,
  specs: isObject(row.specs) ? row.specs : null,
  isBanned: row.banned,
  isPaused: row.paused,
  passed: row.canaries_passed,
  wrong: row.canaries_wrong,
  agreed: row.agreed,
  disagreed: row.disagreed,
  proven: row.proven,
  seenAt: row.seen_at,
  leaseSec: row.lease_seconds,
  leaseUntil: row.lease_until,
  held: heldFrom(row),
})

function heldFrom(row: TouchedRow): HeldAssignment | null {
  const { assignment_id: id, job_id: jobId, attempt_id: attemptId, nonce, cost_hint: costHint, lease_ms: leaseMs } = row
  if (id === null || jobId === null || attemptId === null || nonce === null || costHint === null || leaseMs === null)
    return null
  return { assignmentId: Number(id), jobId, attemptId, nonce, costHint, leaseMs, isOverdue: row.held_too_long === true }
}

// An assignment is an attempt at a ledger job that a worker holds. An acquire makes it, and the row with worker and nonce
// commits with that acquire. A renew keeps it. It is over when the ledger says so.
import type { Queryable } from '../../../core/db/database.ts'
import { isDataError } from '../../../core/db/database.ts'
import type { AcquireRefusal } from '../../../core/ledger/acquire.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Held } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { HeldRefusal } from '../../../core/ledger/refusal.ts'
import { refused, type Refused } from '../../../core/values/outcome.ts'
import { newSecret } from '../../../core/random.ts'
import { jobTextOf, type JobTexts } from '../tasks/payload.ts'
import { timestampOf } from '../wire.ts'
import { leaseOwner, type HeldAssignment, type Worker } from '../workers/presence.ts'

const NEXT_IDS = `
  select nextval(pg_get_serial_sequence('pool_assignments', 'assignment_id')) as id from generate_series(1, $1)`

// The unique keys are the last guard. The transaction fails, and with it the acquire, if the worker already holds a task, the
// owner already runs another replica of the job, or the worker has seen the canary.
const RECORD_ASSIGNMENT = `
  with given as materialized (
    select * from json_to_recordset($1) as r (assignment_id bigint, worker_id bigint, owner_id bigint, job_id uuid,
           attempt_id integer, nonce text, cost_hint integer, lease_ms integer, quorum_id uuid, is_trusted boolean, canary_id bigint)
  ), assigned as (
    insert into pool_assignments (assignment_id, worker_id, job_id, quorum_id, attempt_id, nonce, cost_hint, lease_ms, assigned_at)
    select assignment_id, worker_id, job_id, quorum_id, attempt_id, nonce, cost_hint, lease_ms, statement_timestamp() from given
  ), part as (
    insert into pool_parts (job_id, quorum_id, owner_id, is_trusted)
    select job_id, quorum_id, owner_id, is_trusted from given where quorum_id is not null
        on conflict (job_id) do update set owner_id = excluded.owner_id, is_trusted = excluded.is_trusted
  ), used as (
    insert into pool_canary_uses (worker_id, canary_id) select worker_id, canary_id from given where canary_id is not null
  ), held as (
    update pool_tasks set worker_id = given.worker_id, held_at = clock_timestamp(), held_lease_ms = given.lease_ms
      from given where pool_tasks.job_id = given.job_id
  ), locked as materialized (
    select w.worker_id from given join pool_workers w on w.worker_id = given.worker_id
     order by w.worker_id for no key update of w
  )
  update pool_workers w set assignment_id = given.assignment_id, last_seen_at = statement_timestamp()
    from locked join given on given.worker_id = locked.worker_id where w.worker_id = locked.worker_id`

const FREE_TASK = `
  with given as materialized (
    select * from json_to_recordset($1) as r (worker_id bigint, job_id uuid, assignment_id bigint, is_lost boolean)
  ), freed as (
    update pool_tasks set worker_id = null, held_at = null
      from given where pool_tasks.job_id = given.job_id and pool_tasks.worker_id = given.worker_id
    returning pool_tasks.job_id
  ), locked as materialized (
    select w.worker_id from given join pool_workers w on w.worker_id = given.worker_id
     order by w.worker_id for no key update of w
  )
  update pool_workers w
     set assignment_id = null,
         lost = w.lost + case when given.is_lost and given.job_id in (select job_id from freed) then 1 else 0 end
    from locked join given on given.worker_id = locked.worker_id
   where w.worker_id = locked.worker_id and w.assignment_id = given.assignment_id`

// The worker has not been seen since the assignment was made, so no poll can have returned it.
const CLEAR_ABSENT = `
  update pool_workers w set assignment_id = null
    from pool_assignments a
   where w.worker_id = $1 and w.assignment_id = $2 and a.assignment_id = $2 and w.last_seen_at = a.assigned_at
  returning w.worker_id`

const IDS_AHEAD = 100
const NONCE_CHARS = 32

export interface Assignment {
  assignmentId: number
  /** The client's payload, as JSON text. */
  job: string
  nonce: string
  costHint: number
  leaseUntil: string
}

/** What a worker can be assigned. */
export interface Assignable {
  jobId: string
  /** Of a replica: the replicated job. */
  quorumId: string | null
  canaryId: number | null
  costHint: number
  isTrusted: boolean
  /** The database's clock when the task was read. */
  now: Date
  timeoutSec: number
}

/** `taken`: a unique key refused it. What this process knows of the worker is out of date. */
export type AssignAnswer = { ok: true; assignment: Assignment; held: Held } | Refused<AcquireRefusal | 'taken'>

export interface Assignments {
  assign(worker: Worker, assignable: Assignable): Promise<AssignAnswer>
  /** Renews the lease. */
  keep(worker: Worker, held: HeldAssignment): Promise<{ ok: true } | Refused<HeldRefusal>>
  /** Renews the lease and reads the assignment again. Null: the worker no longer holds it. */
  again(worker: Worker, held: HeldAssignment): Promise<Assignment | null>
  /** The worker no longer holds it, and can be assigned something else. */
  forget(worker: Worker, held: HeldAssignment): Promise<void>
  /** Gives the job back without counting the attempt. */
  release(workerId: number, held: Held, assignmentId: number): Promise<void>
  /** The same for a worker that disconnected while the assignment was made. False: it is back already. */
  releaseAbsent(workerId: number, held: Held, assignmentId: number): Promise<boolean>
}

const heldBy = (workerId: number, { jobId, attemptId }: Pick<HeldAssignment, 'jobId' | 'attemptId'>): Held => ({
  jobId,
  attemptId,
  owner: leaseOwner(workerId),
})

export interface AssignmentDeps extends JobTexts {
  ledger: Ledger
  /** Of a worker that registered none. */
  leaseSec: number
  leaseMaxSec: number
}

export function openAssignments(deps: AssignmentDeps): Assignments {
  const { database, ledger } = deps
  const nextId = openIds(database.hot)
  const freeing = (workerId: number, jobId: string, assignmentId: number, isLost: boolean): Effect => ({
    sql: FREE_TASK,
    row: { worker_id: workerId, job_id: jobId, assignment_id: assignmentId, is_lost: isLost },
  })
  const release: Assignments['release'] = async (workerId, held, assignmentId) => {
    const effect = freeing(workerId, held.jobId, assignmentId, false)
    const answer = await ledger.release({ effects: [effect], ...held })
    if (!answer.ok) await database.hot.query(effect.sql, [JSON.stringify([effect.row])]) // the lease is over already
  }
  const keep: Assignments['keep'] = (worker, held) =>
    ledger.renew({ leaseMs: held.leaseMs, ...heldBy(worker.workerId, held) })

  return {
    keep,
    async assign(worker, assignable) {
      const { workerId } = worker
      const assignmentId = await nextId()
      const nonce = newSecret().slice(0, NONCE_CHARS)
      const leaseMs = leaseFor(deps, worker, assignable)
      const row = {
        assignment_id: assignmentId,
        worker_id: workerId,
        nonce,
        lease_ms: leaseMs,
        ...assignmentRow(worker, assignable),
      }
      const acquire = { jobId: assignable.jobId, owner: leaseOwner(workerId), leaseMs }
      try {
        const answer = await ledger.acquire({
          effects: ({ attemptId }) => [{ sql: RECORD_ASSIGNMENT, row: { attempt_id: attemptId, ...row } }],
          ...acquire,
        })
        if (!answer.ok) return answer
        const job = await jobTextOf(deps, answer.job)
        const { costHint, now } = assignable
        const leaseUntil = timestampOf(new Date(now.getTime() + leaseMs))
        return { ok: true, assignment: { assignmentId, job, nonce, costHint, leaseUntil }, held: answer.job }
      } catch (error) {
        if (isDataError(error)) return refused('taken')
        throw error
      }
    },
    async again(worker, held) {
      if (held.isOverdue || !(await keep(worker, held)).ok) return null
      const stored = await ledger.get(held.jobId)
      if (stored === null) return null
      const job = await jobTextOf(deps, stored)
      const { assignmentId, nonce, costHint } = held
      return { assignmentId, job, nonce, costHint, leaseUntil: worker.leaseUntil }
    },
    async forget({ workerId }, { jobId, assignmentId }) {
      const { sql, row } = freeing(workerId, jobId, assignmentId, true)
      await database.hot.query(sql, [JSON.stringify([row])])
    },
    release,
    async releaseAbsent(workerId, held, assignmentId) {
      const isAbsent = (await database.hot.query(CLEAR_ABSENT, [workerId, assignmentId])).length > 0
      if (isAbsent) await release(workerId, held, assignmentId)
      return isAbsent
    },
  }
}

/**
 * A worker may register a lease for work without heartbeats; it is no longer than the job's own time-out. That is in whole seconds, and
 * what was read of it is off by the moment between two readings of the clock.
 */
const leaseFor = ({ leaseSec, leaseMaxSec }: AssignmentDeps, worker: Worker, { timeoutSec }: Assignable): number =>
  1000 * (worker.leaseSec === null ? leaseSec : Math.min(worker.leaseSec, Math.round(timeoutSec), leaseMaxSec))

const assignmentRow = ({ ownerId }: Worker, { jobId, quorumId, canaryId, costHint, isTrusted }: Assignable) => ({
  owner_id: ownerId,
  job_id: jobId,
  quorum_id: quorumId,
  canary_id: canaryId,
  cost_hint: costHint,
  is_trusted: isTrusted,
})

/** Ids are drawn ahead, many at a time. Unused ones are gaps. */
function openIds(on: Queryable): () => Promise<number> {
  let ahead: number[] = []
  let drawing: Promise<void> | null = null
  const draw = async () => {
    const rows = await on.query<{ id: string }>(NEXT_IDS, [IDS_AHEAD])
    ahead = [...ahead, ...rows.map((row) => Number(row.id))]
    drawing = null
  }
  return async () => {
    for (;;) {
      const id = ahead.shift()
      if (id !== undefined) return id
      drawing ??= draw().finally(() => (drawing = null))
      await drawing
    }
  }
}

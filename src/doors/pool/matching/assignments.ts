// An assignment is an attempt at a ledger job that a worker holds. It is made by an acquire, and the row that names worker
// and nonce commits with that; it is kept by renewing, and over when the ledger says so.
import type { Database, Queryable } from '../../../core/db/database.ts'
import { isDataError } from '../../../core/db/database.ts'
import type { AcquireRefusal } from '../../../core/ledger/acquire.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Held } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { HeldRefusal } from '../../../core/ledger/refusal.ts'
import { refused, type Refused } from '../../../core/outcome.ts'
import { newSecret } from '../../../core/random.ts'
import { payloadOf } from '../tasks/payload.ts'
import { leaseOwner, type Given, type Worker } from '../workers/presence.ts'

const NEXT_IDS = `
  select nextval(pg_get_serial_sequence('pool_assignments', 'assignment_id')) as id from generate_series(1, $1)`

// The unique keys are the last guard: a worker that has something, an owner that has another replica of the same job, or a
// canary that the worker knows, takes the acquire back.
const NOTE = `
  with given as materialized (
    select * from json_to_recordset($1) as r (assignment_id bigint, worker_id bigint, owner_id bigint, job_id uuid,
           attempt_id integer, nonce text, cost_hint integer, quorum_id uuid, is_trusted boolean, canary_id bigint)
  ), noted as (
    insert into pool_assignments (assignment_id, worker_id, job_id, attempt_id, nonce, cost_hint, assigned_at)
    select assignment_id, worker_id, job_id, attempt_id, nonce, cost_hint, statement_timestamp() from given
  ), part as (
    insert into pool_parts (job_id, quorum_id, owner_id, is_trusted)
    select job_id, quorum_id, owner_id, is_trusted from given where quorum_id is not null
        on conflict (job_id) do update set owner_id = excluded.owner_id, is_trusted = excluded.is_trusted
  ), used as (
    insert into pool_canary_uses (worker_id, canary_id) select worker_id, canary_id from given where canary_id is not null
  ), held as (
    update pool_tasks set worker_id = given.worker_id, held_at = clock_timestamp()
      from given where pool_tasks.job_id = given.job_id
  ), locked as materialized (
    select w.worker_id from given join pool_workers w on w.worker_id = given.worker_id
     order by w.worker_id for no key update of w
  )
  update pool_workers w set assignment_id = given.assignment_id, last_seen_at = statement_timestamp()
    from locked join given on given.worker_id = locked.worker_id where w.worker_id = locked.worker_id`

const FREE = `
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

// The worker has given no sign of life since it was given this: no poll of its can have answered with it.
const TAKE_FROM_ABSENT = `
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

export interface Gift {
  jobId: string
  /** A replica's job, or null. */
  quorumId: string | null
  canaryId: number | null
  costHint: number
  isTrusted: boolean
  leaseUntil: string
}

/** `taken`: a constraint of the database stood in the way; what this process believed of the worker is out of date. */
export type GiveAnswer = { ok: true; assignment: Assignment; held: Held } | Refused<AcquireRefusal | 'taken'>

export interface Assignments {
  give(worker: Worker, gift: Gift): Promise<GiveAnswer>
  /** Renews what the worker was given. */
  keep(worker: Worker, given: Given): Promise<{ ok: true } | Refused<HeldRefusal>>
  /** The same, with all that a poll answers. */
  again(worker: Worker, given: Given): Promise<Assignment | null>
  /** The worker no longer has it, and can be given something else. */
  forget(worker: Worker, given: Given): Promise<void>
  /** Unharmed, to be given to somebody else. The worker's own row has been cleared. */
  giveBack(workerId: number, held: Held, assignmentId: number): Promise<void>
  /** The same for a worker that went away while it was being served, unless it is back already. */
  takeFromAbsent(workerId: number, held: Held, assignmentId: number): Promise<boolean>
}

const heldBy = (workerId: number, { jobId, attemptId }: Pick<Given, 'jobId' | 'attemptId'>): Held => ({
  jobId,
  attemptId,
  owner: leaseOwner(workerId),
})

export function openAssignments(deps: { database: Database; ledger: Ledger; leaseMs: number }): Assignments {
  const { database, ledger, leaseMs } = deps
  const nextId = openIds(database.hot)
  const freeing = (workerId: number, jobId: string, assignmentId: number, isLost: boolean): Effect => ({
    sql: FREE,
    row: { worker_id: workerId, job_id: jobId, assignment_id: assignmentId, is_lost: isLost },
  })
  const giveBack: Assignments['giveBack'] = async (workerId, held, assignmentId) => {
    await ledger.release({ ...held, effects: [freeing(workerId, held.jobId, assignmentId, false)] })
  }
  const keep: Assignments['keep'] = (worker, given) => ledger.renew({ ...heldBy(worker.workerId, given), leaseMs })

  return {
    keep,
    async give(worker, gift) {
      const { workerId } = worker
      const assignmentId = await nextId()
      const nonce = newSecret().slice(0, NONCE_CHARS)
      const row = { assignment_id: assignmentId, worker_id: workerId, nonce, ...rowOf(worker, gift) }
      const acquire = { jobId: gift.jobId, owner: leaseOwner(workerId), leaseMs }
      try {
        const answer = await ledger.acquire({
          ...acquire,
          effects: ({ attemptId }) => [{ sql: NOTE, row: { ...row, attempt_id: attemptId } }],
        })
        if (!answer.ok) return answer
        const job = payloadOf(answer.job)?.job ?? 'null'
        const { costHint, leaseUntil } = gift
        return { ok: true, assignment: { assignmentId, job, nonce, costHint, leaseUntil }, held: answer.job }
      } catch (error) {
        if (isDataError(error)) return refused('taken')
        throw error
      }
    },
    async again(worker, given) {
      if (given.isOverdue || !(await keep(worker, given)).ok) return null
      const job = await ledger.get(given.jobId)
      const payload = job === null ? null : payloadOf(job)
      if (payload === null) return null
      const { assignmentId, nonce, costHint } = given
      return { assignmentId, job: payload.job, nonce, costHint, leaseUntil: worker.leaseUntil }
    },
    async forget({ workerId }, { jobId, assignmentId }) {
      const { sql, row } = freeing(workerId, jobId, assignmentId, true)
      await database.hot.query(sql, [JSON.stringify([row])])
    },
    giveBack,
    async takeFromAbsent(workerId, held, assignmentId) {
      const isAbsent = (await database.hot.query(TAKE_FROM_ABSENT, [workerId, assignmentId])).length > 0
      if (isAbsent) await giveBack(workerId, held, assignmentId)
      return isAbsent
    },
  }
}

const rowOf = ({ ownerId }: Worker, { jobId, quorumId, canaryId, costHint, isTrusted }: Gift) => ({
  owner_id: ownerId,
  job_id: jobId,
  quorum_id: quorumId,
  canary_id: canaryId,
  cost_hint: costHint,
  is_trusted: isTrusted,
})

/** Ids are drawn ahead, many at a time: what is not used is a gap. */
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

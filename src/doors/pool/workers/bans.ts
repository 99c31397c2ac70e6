// A ban takes the worker's assignment away, and its vote in every undecided quorum.
import type { Database } from '../../../core/db/database.ts'
import { ok, refused, type Ok, type Refused } from '../../../core/values/outcome.ts'
import type { Assignments } from '../matching/assignments.ts'
import { leaseOwner } from './presence.ts'
import { touchVotesOf } from '../quorum/quorum-rows.ts'

const LOCK = `
  select w.banned_at is not null as banned, a.assignment_id, a.job_id, a.attempt_id
    from pool_workers w left join pool_assignments a on a.assignment_id = w.assignment_id
   where w.worker_id = $1 for no key update of w`

const BAN = `
  update pool_workers set banned_at = clock_timestamp(), ban_reason = $2, assignment_id = null
   where worker_id = $1 and banned_at is null`

// The record before the ban does not count after it.
const UNBAN = `
  update pool_workers
     set banned_at = null, ban_reason = null, canaries_passed = 0, canaries_wrong = 0, agreed = 0, disagreed = 0,
         proven = 0
   where worker_id = $1`

/** With the days that they are kept, and how many at most. Why a worker is banned now is said by its row. */
export const DELETE_OLD_BANS = `
  delete from pool_audit where audit_id = any (array(
    select audit_id from pool_audit where created_at < statement_timestamp() - $1 * interval '1 day' limit $2))
  returning true as deleted`
const AUDIT = `insert into pool_audit (worker_id, action, reason, actor_id) values ($1, $2, $3, $4)`

export interface Bans {
  ban(workerId: number, by: { actorId: number; reason: string }): Promise<Ok | Refused<'worker_not_found'>>
  unban(
    workerId: number,
    by: { actorId: number; reason: string | null },
  ): Promise<Ok | Refused<'worker_not_found' | 'not_banned'>>
}

export interface BanDeps {
  database: Database
  assignments: Assignments
  onFreed(): void
}

interface LockedWorker {
  banned: boolean
  assignment_id: string | null
  job_id: string | null
  attempt_id: number | null
}

export function openBans({ database, assignments, onFreed }: BanDeps): Bans {
  return {
    async ban(workerId, { actorId, reason }) {
      const held = await database.transaction(async (tx) => {
        const [worker] = await tx.query<LockedWorker>(LOCK, [workerId])
        if (worker === undefined || worker.banned) return worker ?? null
        await tx.query(BAN, [workerId, reason])
        await tx.query(AUDIT, [workerId, 'ban', reason, actorId])
        const { sql, row } = touchVotesOf(workerId)
        await tx.query(sql, [JSON.stringify([row])])
        return worker
      })
      if (held === null) return refused('worker_not_found')
      const { assignment_id: assignmentId, job_id: jobId, attempt_id: attemptId } = held
      if (assignmentId !== null && jobId !== null && attemptId !== null) {
        await assignments.release(workerId, { jobId, attemptId, owner: leaseOwner(workerId) }, Number(assignmentId))
        onFreed()
      }
      return ok
    },
    async unban(workerId, { actorId, reason }) {
      return database.transaction(async (tx) => {
        const [worker] = await tx.query<LockedWorker>(LOCK, [workerId])
        if (worker === undefined) return refused('worker_not_found')
        if (!worker.banned) return refused('not_banned')
        await tx.query(UNBAN, [workerId])
        await tx.query(AUDIT, [workerId, 'unban', reason, actorId])
        return ok
      })
    },
  }
}

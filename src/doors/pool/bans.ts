// Banning a worker takes away what it holds, and its word in every quorum that is not decided yet.
import type { Database } from '../../core/database.ts'
import type { Ledger } from '../../core/ledger/ledger.ts'
import { refused, type Ok, type Refused, ok } from '../../core/outcome.ts'
import type { Assignments } from './assignments.ts'
import { leaseOwner } from './presence.ts'

const LOCK = `
  select w.banned_at is not null as banned, a.assignment_id, a.job_id, a.attempt_id
    from pool_workers w left join pool_assignments a on a.assignment_id = w.assignment_id
   where w.worker_id = $1 for no key update of w`

const BAN = `
  update pool_workers set banned_at = clock_timestamp(), ban_reason = $2, assignment_id = null
   where worker_id = $1 and banned_at is null`

// What it proved before the ban proves nothing after it.
const UNBAN = `
  update pool_workers
     set banned_at = null, ban_reason = null, canaries_passed = 0, canaries_wrong = 0, agreed = 0, disagreed = 0
   where worker_id = $1`

const AUDIT = `insert into pool_audit (worker_id, action, reason, actor_id) values ($1, $2, $3, $4)`

/** For effects and for bans: every undecided quorum in which the worker has voted is to be looked at. */
export const TOUCH_VOTED = `
  with voted as materialized (
    select distinct q.job_id from pool_results r join pool_quorums q on q.job_id = r.quorum_id
     where r.worker_id = $1 and r.verdict is null and r.quorum_id is not null and q.vote is null
  ), locked as materialized (
    select job_id from pool_quorums where job_id in (select job_id from voted) order by job_id for no key update
  )
  update pool_quorums q set touches = touches + 1 from locked where q.job_id = locked.job_id returning q.job_id`

export interface Bans {
  ban(workerId: number, by: { actorId: number; reason: string }): Promise<Ok | Refused<'worker_not_found'>>
  unban(
    workerId: number,
    by: { actorId: number; reason: string | null },
  ): Promise<Ok | Refused<'worker_not_found' | 'not_banned'>>
}

export interface BanDeps {
  database: Database
  ledger: Ledger
  assignments: Assignments
  onFreed(): void
}

interface Locked {
  banned: boolean
  assignment_id: string | null
  job_id: string | null
  attempt_id: number | null
}

export function openBans({ database, assignments, onFreed }: BanDeps): Bans {
  return {
    async ban(workerId, { actorId, reason }) {
      const held = await database.transaction(async (tx) => {
        const [worker] = await tx.query<Locked>(LOCK, [workerId])
        if (worker === undefined || worker.banned) return worker ?? null
        await tx.query(BAN, [workerId, reason])
        await tx.query(AUDIT, [workerId, 'ban', reason, actorId])
        await tx.query(TOUCH_VOTED, [workerId])
        return worker
      })
      if (held === null) return refused('worker_not_found')
      const { assignment_id: assignmentId, job_id: jobId, attempt_id: attemptId } = held
      if (assignmentId !== null && jobId !== null && attemptId !== null) {
        await assignments.giveBack(workerId, { jobId, attemptId, owner: leaseOwner(workerId) }, Number(assignmentId))
        onFreed()
      }
      return ok
    },
    async unban(workerId, { actorId, reason }) {
      return database.transaction(async (tx) => {
        const [worker] = await tx.query<Locked>(LOCK, [workerId])
        if (worker === undefined) return refused('worker_not_found')
        if (!worker.banned) return refused('not_banned')
        await tx.query(UNBAN, [workerId])
        await tx.query(AUDIT, [workerId, 'unban', reason, actorId])
        return ok
      })
    },
  }
}

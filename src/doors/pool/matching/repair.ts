// Repairs rows of pool_tasks that disagree with the ledger, and frees the tasks of workers that have gone silent. The ledger
// decides: a row is deleted only when the ledger says that its job has ended.
import { buryJob, type Kinds } from '../../../core/executor/endings.ts'
import type { Database } from '../../../core/db/database.ts'
import type { AcquireRefusal } from '../../../core/ledger/acquire.ts'
import { isEnded } from '../../../core/ledger/ended.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Loop } from '../../../core/loop.ts'
import { assertNever } from '../../../core/values/outcome.ts'
import { ATTEMPTS_EXHAUSTED } from '../../../core/upkeep.ts'
import { leaseOwner, workerOfLease } from '../workers/presence.ts'
import type { Assignments } from './assignments.ts'

const DELETE = `delete from pool_tasks where job_id = $1`

const MARK_HELD = `
  update pool_tasks set worker_id = $2, held_at = clock_timestamp(), held_lease_ms = $3
   where job_id = $1 and worker_id is null and not exists (select from pool_tasks where worker_id = $2)`

// Held by a worker that has been silent for a lease, or for longer than heartbeats may keep it: its lease has expired, or is
// about to. The worker's own row still names the assignment, so that its next heartbeat reports it as cancelled.
const FREE_SILENT = `
  with silent as materialized (
    select t.job_id, t.worker_id from pool_tasks t join pool_workers w on w.worker_id = t.worker_id
     where t.worker_id is not null
       and (w.last_seen_at < clock_timestamp() - (t.held_lease_ms + $1) * interval '1 ms' or t.held_at < clock_timestamp() - $2 * interval '1 ms')
     order by t.worker_id limit $3 for update of t skip locked
  ), freed as (
    update pool_tasks set worker_id = null, held_at = null
      from silent where pool_tasks.job_id = silent.job_id
    returning pool_tasks.job_id
  ), locked as materialized (
    select worker_id from pool_workers where worker_id in (select worker_id from silent)
     order by worker_id for no key update
  ), counted as (
    update pool_workers w set lost = w.lost + 1 from locked where w.worker_id = locked.worker_id
  )
  select job_id from freed`

// A task whose worker was assigned it but no longer names it: a process died between clearing the worker's row and releasing
// the job. The worker may be alive, so silence would never free it.
const SELECT_ORPHANS = `
  select t.job_id, t.worker_id, latest.assignment_id, latest.attempt_id
    from pool_tasks t
    join pool_workers w on w.worker_id = t.worker_id
    join lateral (select a.assignment_id, a.attempt_id, a.worker_id from pool_assignments a
                   where a.job_id = t.job_id order by a.attempt_id desc limit 1) as latest on latest.worker_id = t.worker_id
   where t.worker_id is not null and t.held_at < clock_timestamp() - $1 * interval '1 ms'
     and w.assignment_id is distinct from latest.assignment_id
   order by t.job_id limit $2`

const FREE_EVERY_MS = 1000
const FREE_MAX = 1000
const ORPHAN_GRACE_MS = 1000 // a process that is alive releases within this time
const LATE_MS = 100 // the lease is renewed a moment after the worker is marked as seen

export interface Repair {
  /** A task whose acquire was refused, and why. */
  task(jobId: string, code: AcquireRefusal): Promise<void>
  loop: Loop
}

export interface RepairDeps {
  database: Database
  ledger: Ledger
  kinds: Kinds
  assignments: Assignments
  leaseMs: number
  holdMs: number
  onFreed(): void
}

export function openRepair(deps: RepairDeps): Repair {
  const { database, ledger, kinds, leaseMs, holdMs, onFreed } = deps
  return {
    async task(jobId, code) {
      switch (code) {
        case 'unknown_job':
        case 'already_finished':
          return void (await database.query(DELETE, [jobId]))
        case 'exhausted':
          return void (await buryJob(ledger, kinds, jobId, ATTEMPTS_EXHAUSTED))
        case 'lease_still_valid':
        case 'not_due':
          return markHeld(deps, jobId)
        default:
          return assertNever(code)
      }
    },
    loop: {
      name: 'free-tasks-of-silent-workers',
      everyMs: FREE_EVERY_MS,
      isDue: `exists (select from pool_tasks where worker_id is not null)`,
      async runOnce() {
        const params = [LATE_MS, holdMs + leaseMs + LATE_MS, FREE_MAX]
        const freed = await database.query(FREE_SILENT, params)
        const orphans = await releaseOrphans(deps)
        if (freed.length + orphans > 0) onFreed()
        return freed.length === FREE_MAX
      },
    },
  }
}

/** The job may have been released or finished since the acquire was refused: only what the ledger says now counts. */
async function markHeld({ database, ledger, leaseMs }: RepairDeps, jobId: string): Promise<void> {
  const job = await ledger.get(jobId)
  if (job === null || isEnded(job)) return void (await database.query(DELETE, [jobId]))
  const holder = workerOfLease(job.leaseOwner)
  if (job.state === 'processing' && holder !== null) await database.query(MARK_HELD, [jobId, holder, leaseMs])
}

async function releaseOrphans({ database, assignments }: RepairDeps): Promise<number> {
  type Orphan = { job_id: string; worker_id: string; assignment_id: string; attempt_id: number }
  const orphans = await database.query<Orphan>(SELECT_ORPHANS, [ORPHAN_GRACE_MS, FREE_MAX])
  await Promise.all(
    orphans.map(({ job_id: jobId, worker_id: worker, assignment_id: assignment, attempt_id: attemptId }) => {
      const workerId = Number(worker)
      return assignments.release(workerId, { jobId, attemptId, owner: leaseOwner(workerId) }, Number(assignment))
    }),
  )
  return orphans.length
}

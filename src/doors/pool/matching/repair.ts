// Puts right what the line of tasks says too much or too little of. The ledger is asked, never overruled.
import type { Database } from '../../../core/db/database.ts'
import type { AcquireRefusal } from '../../../core/ledger/acquire.ts'
import { buryJob, type Kinds } from '../../../core/executor/endings.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Loop } from '../../../core/loop.ts'
import { assertNever } from '../../../core/outcome.ts'
import { ATTEMPTS_EXHAUSTED } from '../../../core/upkeep.ts'
import { workerOfLease } from '../workers/presence.ts'

const DELETE = `delete from pool_tasks where job_id = $1`

const MARK_HELD = `
  update pool_tasks set worker_id = $2, held_at = clock_timestamp()
   where job_id = $1 and worker_id is null and not exists (select from pool_tasks where worker_id = $2)`

// Held by a worker that has been silent for a lease, or longer than heartbeats may keep it: its lease has run out, or is
// about to. The worker's own row still names the assignment, so that it is told when it comes back.
const FREE_SILENT = `
  with silent as materialized (
    select t.job_id, t.worker_id from pool_tasks t join pool_workers w on w.worker_id = t.worker_id
     where t.worker_id is not null
       and (w.last_seen_at < clock_timestamp() - $1 * interval '1 ms' or t.held_at < clock_timestamp() - $2 * interval '1 ms')
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

const FREE_EVERY_MS = 1000
const FREE_MAX = 1000
const LATE_MS = 100 // a lease that is renewed with a sign of life ends a moment after it

export interface Repair {
  /** A task that could not be given, and why. */
  task(jobId: string, code: AcquireRefusal): Promise<void>
  loop: Loop
}

export interface RepairDeps {
  database: Database
  ledger: Ledger
  kinds: Kinds
  leaseMs: number
  holdMs: number
  onFreed(): void
}

export function openRepair({ database, ledger, kinds, leaseMs, holdMs, onFreed }: RepairDeps): Repair {
  const markHeld = async (jobId: string) => {
    const holder = workerOfLease((await ledger.get(jobId))?.leaseOwner ?? null)
    await (holder === null ? database.query(DELETE, [jobId]) : database.query(MARK_HELD, [jobId, holder]))
  }
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
          return markHeld(jobId)
        default:
          return assertNever(code)
      }
    },
    loop: {
      name: 'free what silent workers hold',
      everyMs: FREE_EVERY_MS,
      async runOnce() {
        const params = [leaseMs + LATE_MS, holdMs + leaseMs + LATE_MS, FREE_MAX]
        const freed = await database.query(FREE_SILENT, params)
        if (freed.length > 0) onFreed()
        return freed.length === FREE_MAX
      },
    },
  }
}

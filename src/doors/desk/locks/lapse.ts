// A lock whose time is up: the task is pending again, and subscribers are told. The ledger needs no transition for it (whoever
// acquires the job takes over from an expired lease), so only the desk's own row changes. The row lock orders this against a claim
// or a renewal: either that came first and nothing has lapsed, or it comes after.
import { lapsed, type LapsedTask } from '../changes/lock-changes.ts'
import type { Desk } from '../desk.ts'

const FIND_LAPSED = `
  select t.id, t.uuid, t.account_id, t.domain, t.priority, t.created_at, t.assigned_to, clock_timestamp() as now
    from captcha_task t
   where t.locked_until <= statement_timestamp() and ($1::uuid[] is null or t.uuid = any ($1))
   order by t.locked_until limit $2 for update skip locked`

const BATCH = 500

/** Of these tasks, or of all: at most `limit`. Resolves to their number. */
export async function lapse({ changes }: Pick<Desk, 'changes'>, uuids: readonly string[] | null, limit = BATCH) {
  const made = await changes.transact(async (tx) =>
    (await tx.query<LapsedTask>(FIND_LAPSED, [uuids, limit])).map(lapsed),
  )
  return made.length
}

import type { Attention } from '../../../core/admin/overview.ts'
import type { Database } from '../../../core/db/database.ts'
import { WORKER_STATUS } from './worker-store.ts'

const COUNT_MAX = 1000

// A worker that was not seen for a day has been switched off: nobody needs to hurry. A paused one is meant to be silent.
const COUNT_OFFLINE = `
  select count(*)::integer as count
    from (select 1 from pool_workers
           where removed_at is null and paused_at is null and last_seen_at > clock_timestamp() - interval '1 day'
             and ${WORKER_STATUS} = 'offline' limit ${COUNT_MAX + 1}) as silent`

/** Workers that have fallen silent within the last day. */
export async function offlineWorkers(database: Database, leaseSec: number): Promise<Attention[]> {
  const [row] = await database.query<{ count: number }>(COUNT_OFFLINE, [leaseSec])
  const count = row?.count ?? 0
  if (count === 0) return []
  return [
    {
      tone: 'warn',
      count: Math.min(count, COUNT_MAX),
      isMore: count > COUNT_MAX,
      text: count === 1 ? 'worker went offline today' : 'workers went offline today',
      to: '/console/pool/all?offline=yes',
    },
  ]
}

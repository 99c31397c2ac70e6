// A worker's standing: in full for admins; for its owner without what would reveal which jobs were canaries.
import type { Database } from '../../../core/db/database.ts'
import { isObject } from '../../../core/values/is-object.ts'
import type { CanaryStock } from '../canaries/canary-stock.ts'
import { timestampText } from '../wire.ts'
import { isTrusted, scoreOf, type Standing, type TrackRecord } from './reputation.ts'
import type { WorkerProfile } from '../tasks/requirements.ts'
import { WORKER_STATUS } from './worker-store.ts'

const COLUMNS = `
  worker_id, name, owner_id, region, specs, banned_at is not null as is_banned, ban_reason,
  ${timestampText('banned_at')} as banned_at, ${timestampText('registered_at')} as registered_at, ${timestampText('last_seen_at')} as last_seen_at,
  completed, failed, lost, canaries_passed, canaries_wrong, agreed, disagreed, proven`

const SELECT = `select ${COLUMNS} from pool_workers where worker_id = $1 and owner_id = $2 and removed_at is null`

// Of any owner, removed ones too: what they did stays.
const FOR_ADMINS = `
  select ${COLUMNS}, ${WORKER_STATUS} as status, paused_at is not null as paused, removed_at is not null as is_removed,
         (select a.username from accounts a where a.account_id = owner_id) as owner
    from pool_workers`

const LIST = `${FOR_ADMINS}
   where worker_id > $2 and ($3::boolean is null or (banned_at is not null) = $3) order by worker_id limit $4`

const SELECT_FOR_ADMINS = `${FOR_ADMINS} where worker_id = $2`

const IN_SIGHT = `
  select ${COLUMNS}, ${WORKER_STATUS} as status, paused_at is not null as paused
    from pool_workers where worker_id = any($2::bigint[]) and removed_at is null`

const AUDIT = `
  select action, reason, actor_id, ${timestampText('created_at')} as created_at,
         (select a.username from accounts a where a.account_id = actor_id) as actor
    from pool_audit where worker_id = $1 order by audit_id desc limit 100`

export interface StandingRow {
  worker_id: string
  name: string
  owner_id: string
  region: string | null
  specs: unknown
  is_banned: boolean
  ban_reason: string | null
  banned_at: string | null
  registered_at: string
  last_seen_at: string | null
  completed: number
  failed: number
  lost: number
  canaries_passed: number
  canaries_wrong: number
  agreed: number
  disagreed: number
  proven: number
}

/** What only an admin sees of a worker. */
export interface AdminStandingRow extends StandingRow {
  status: string
  paused: boolean
  is_removed: boolean
  /** Null: the account is gone. */
  owner: string | null
}

export async function findStanding(database: Database, workerId: number, ownerId: number) {
  const [row] = await database.query<StandingRow>(SELECT, [workerId, ownerId])
  return row ?? null
}

/** `leaseSec`: the default, after which a silent worker is offline. */
export async function findForAdmins(database: Database, workerId: number, leaseSec: number) {
  const [row] = await database.query<AdminStandingRow>(SELECT_FOR_ADMINS, [leaseSec, workerId])
  return row ?? null
}

export const listStandings = (
  database: Database,
  page: { after: number; banned: boolean | null; limit: number; leaseSec: number },
) => database.query<AdminStandingRow>(LIST, [page.leaseSec, page.after, page.banned, page.limit])

/** Of any owner. */
export const listInSight = (database: Database, workerIds: readonly number[], leaseSec: number) =>
  database.query<StandingRow & { status: string; paused: boolean }>(IN_SIGHT, [leaseSec, workerIds])

export async function auditOf(database: Database, workerId: number) {
  type Row = {
    action: string
    reason: string | null
    actor_id: string | null
    actor: string | null
    created_at: string
  }
  const rows = await database.query<Row>(AUDIT, [workerId])
  return rows.map((row) => ({ ...row, actor_id: row.actor_id === null ? null : Number(row.actor_id) }))
}

const recordOf = (row: StandingRow): TrackRecord => ({
  passed: row.canaries_passed,
  wrong: row.canaries_wrong,
  agreed: row.agreed,
  disagreed: row.disagreed,
  proven: row.proven,
})

const profileOf = ({ region, specs }: StandingRow): WorkerProfile => ({ region, specs: isObject(specs) ? specs : null })

export function standingOf(row: StandingRow, canaries: CanaryStock, probation: number): Standing {
  if (row.is_banned) return 'banned'
  return isTrusted(recordOf(row), canaries.countFor(profileOf(row)), probation) ? 'trusted' : 'probation'
}

/** The score is rounded to a tenth, and canaries are counted like all other jobs. */
export const ownersView = (row: StandingRow, standing: Standing) => ({
  worker_id: Number(row.worker_id),
  standing,
  reputation: Math.round(scoreOf(recordOf(row)) * 10) / 10,
  completed: row.completed,
  failed: row.failed,
  lost: row.lost,
  banned_at: row.banned_at,
  ban_reason: row.ban_reason,
})

export const adminsView = (row: AdminStandingRow, standing: Standing) => ({
  worker_id: Number(row.worker_id),
  name: row.name,
  owner_user_id: Number(row.owner_id),
  owner: row.owner,
  status: row.is_removed ? 'removed' : row.status,
  paused: row.paused,
  standing,
  reputation: Math.round(scoreOf(recordOf(row)) * 10_000) / 10_000,
  completed: row.completed,
  failed: row.failed,
  lost: row.lost,
  canaries_passed: row.canaries_passed,
  canaries_wrong: row.canaries_wrong,
  agreed: row.agreed,
  disagreed: row.disagreed,
  proven: row.proven,
  banned_at: row.banned_at,
  ban_reason: row.ban_reason,
  registered_at: row.registered_at,
  last_seen_at: row.last_seen_at,
})

// pool_workers, as owners see them.
import { isRefusedValue, type Database } from '../../../core/db/database.ts'
import { refused, type Refused } from '../../../core/values/outcome.ts'
import type { QuotaAnswer } from '../../../core/quotas/quota.ts'
import type { Quotas } from '../../../core/quotas/quotas.ts'
import type { Assignments } from '../matching/assignments.ts'
import { rawOrNull, timestampText, type RawJson } from '../wire.ts'
import { leaseOwner } from './presence.ts'

/** `$1` is the default lease in seconds. */
export const WORKER_STATUS = `
  case when banned_at is not null then 'banned'
       when last_seen_at > clock_timestamp() - coalesce(lease_seconds, $1) * interval '1 second' then 'online'
       else 'offline' end`

const COLUMNS = `
  worker_id, name, owner_id, ${WORKER_STATUS} as status, region, specs::text as specs, public_key, lease_seconds,
  paused_at is not null as paused, ${timestampText('last_seen_at')} as last_seen_at`

const INSERT = `
  insert into pool_workers (name, owner_id, region, specs, public_key, lease_seconds)
  values ($2, $3, $4, $5::json, $6, $7) on conflict (name) do nothing
  returning ${COLUMNS}`

const COUNT = `
  select owner_id, count(*)::integer as count from pool_workers
   where owner_id = any($1::bigint[]) and removed_at is null group by owner_id`

const LIST = `
  select ${COLUMNS} from pool_workers
   where owner_id = $2 and worker_id > $3 and removed_at is null order by worker_id limit $4`

const SELECT = `select ${COLUMNS} from pool_workers where worker_id = $2 and owner_id = $3 and removed_at is null`

// A null parameter leaves the column as it is, but where `$7` and `$8` say that null is the new value.
const UPDATE = `
  update pool_workers
     set name = coalesce($3, name),
         region = case when $7 then $4 else region end,
         specs = case when $8 then $5::json else specs end,
         lease_seconds = case when $9 then $6 else lease_seconds end,
         paused_at = case when $10::boolean is null then paused_at
                          when $10 then coalesce(paused_at, clock_timestamp()) end
   where worker_id = $1 and owner_id = $2 and removed_at is null
  returning worker_id`

// The name is free again. The row stays: results, votes and receipts name the worker.
const REMOVE = `
  with before as materialized (
    select worker_id, assignment_id from pool_workers
     where worker_id = $1 and owner_id = $2 and removed_at is null for no key update
  ), removed as (
    update pool_workers w
       set removed_at = clock_timestamp(), assignment_id = null, name = 'removed ' || w.worker_id || ': ' || w.name
      from before where w.worker_id = before.worker_id
    returning w.worker_id
  )
  select a.assignment_id, a.job_id, a.attempt_id
    from removed join before on before.worker_id = removed.worker_id
    left join pool_assignments a on a.assignment_id = before.assignment_id`

const SET_KEY = `
  with changed as (
    update pool_workers set public_key = $3
     where worker_id = $1 and owner_id = $2 and removed_at is null
    returning worker_id
  )
  insert into pool_audit (worker_id, action, actor_id) select worker_id, 'set_key', $2 from changed
  returning worker_id`

export interface NewWorker {
  name: string
  ownerId: number
  region: string | null
  /** JSON. */
  specs: string | null
  publicKey: string | null
  leaseSec: number | null
}

/** Undefined: as it is. */
export interface WorkerChange {
  name: string | undefined
  region: string | null | undefined
  /** JSON. */
  specs: string | null | undefined
  leaseSec: number | null | undefined
  paused: boolean | undefined
}

/** A worker on the wire (docs/pool.md, section 2). */
export interface WorkerView {
  id: number
  name: string
  owner_user_id: number
  status: string
  region: string | null
  specs_json: RawJson | null
  public_key: string | null
  last_seen_at: string | null
  /** Only where the owner set it. */
  lease_seconds?: number
  paused?: true
}

interface WorkerRow {
  worker_id: string
  name: string
  owner_id: string
  status: string
  region: string | null
  specs: string | null
  public_key: string | null
  last_seen_at: string | null
  lease_seconds: number | null
  paused: boolean
}

const workerView = (row: WorkerRow): WorkerView => ({
  id: Number(row.worker_id),
  name: row.name,
  owner_user_id: Number(row.owner_id),
  status: row.status,
  region: row.region,
  specs_json: rawOrNull(row.specs),
  public_key: row.public_key,
  last_seen_at: row.last_seen_at,
  ...(row.lease_seconds === null ? {} : { lease_seconds: row.lease_seconds }),
  ...(row.paused ? { paused: true } : {}),
})

export type RegisterWorkerAnswer =
  | { ok: true; worker: WorkerView }
  | Refused<'worker_name_taken'>
  | Exclude<QuotaAnswer, { ok: true }>

export type UpdateAnswer = { ok: true; worker: WorkerView } | Refused<'worker_not_found' | 'worker_name_taken'>

export interface WorkerPage {
  after: number
  limit: number
}

export interface WorkerStore {
  register(worker: NewWorker): Promise<RegisterWorkerAnswer>
  list(ownerId: number, page: WorkerPage): Promise<WorkerView[]>
  /** Null: unknown, or another owner's. */
  find(workerId: number, ownerId: number): Promise<WorkerView | null>
  setKey(workerId: number, ownerId: number, publicKey: string): Promise<WorkerView | null>
  update(workerId: number, ownerId: number, change: WorkerChange): Promise<UpdateAnswer>
  /** False: unknown, or another owner's. What it holds goes to another worker. */
  remove(workerId: number, ownerId: number): Promise<boolean>
}

export interface WorkerStoreDeps {
  database: Database
  assignments: Assignments
  leaseSec: number
  quotas: Quotas
  /** A task waits for another worker. */
  onFreed(): void
}

export function openWorkerStore(deps: WorkerStoreDeps): WorkerStore {
  const { database, leaseSec } = deps
  const quota = deps.quotas.open('workers', async (ownerIds) => {
    const rows = await database.query<{ owner_id: string; count: number }>(COUNT, [ownerIds])
    return new Map(rows.map((row) => [Number(row.owner_id), row.count]))
  })
  const find = async (workerId: number, ownerId: number) => {
    const [row] = await database.query<WorkerRow>(SELECT, [leaseSec, workerId, ownerId])
    return row === undefined ? null : workerView(row)
  }
  return {
    async register(worker) {
      const answer = await quota.take(worker.ownerId)
      return answer.ok ? register(deps, worker) : answer
    },
    async list(ownerId, { after, limit }) {
      return (await database.query<WorkerRow>(LIST, [leaseSec, ownerId, after, limit])).map(workerView)
    },
    find,
    async setKey(workerId, ownerId, publicKey) {
      const changed = await database.query(SET_KEY, [workerId, ownerId, publicKey])
      return changed.length === 0 ? null : find(workerId, ownerId)
    },
    async update(workerId, ownerId, change) {
      try {
        await database.query(UPDATE, [workerId, ownerId, ...updateParams(change)])
      } catch (error) {
        if (isRefusedValue(error) && error.constraint === NAME_KEY) return refused('worker_name_taken')
        throw error
      }
      const worker = await find(workerId, ownerId)
      return worker === null ? refused('worker_not_found') : { ok: true, worker }
    },
    remove: (workerId, ownerId) => remove(deps, workerId, ownerId),
  }
}

const NAME_KEY = 'pool_workers_name'

const updateParams = ({ name, region, specs, leaseSec, paused }: WorkerChange) => [
  name ?? null,
  region ?? null,
  specs ?? null,
  leaseSec ?? null,
  region !== undefined,
  specs !== undefined,
  leaseSec !== undefined,
  paused ?? null,
]

async function register({ database, leaseSec }: WorkerStoreDeps, worker: NewWorker): Promise<RegisterWorkerAnswer> {
  const { name, ownerId, region, specs, publicKey } = worker
  const params = [leaseSec, name, ownerId, region, specs, publicKey, worker.leaseSec]
  const [row] = await database.query<WorkerRow>(INSERT, params)
  return row === undefined ? refused('worker_name_taken') : { ok: true, worker: workerView(row) }
}

async function remove(deps: WorkerStoreDeps, workerId: number, ownerId: number): Promise<boolean> {
  type Held = { assignment_id: string | null; job_id: string | null; attempt_id: number | null }
  const [removed] = await deps.database.query<Held>(REMOVE, [workerId, ownerId])
  if (removed === undefined) return false
  const { assignment_id: assignmentId, job_id: jobId, attempt_id: attemptId } = removed
  if (assignmentId !== null && jobId !== null && attemptId !== null) {
    const held = { jobId, attemptId, owner: leaseOwner(workerId) }
    await deps.assignments.release(workerId, held, Number(assignmentId))
    deps.onFreed()
  }
  return true
}

// pool_workers, as owners see them.
import type { Database, Queryable } from '../../../core/db/database.ts'
import { refused, type Refused } from '../../../core/outcome.ts'
import { rawOrNull, timestampText, type RawJson } from '../wire.ts'

/** `$1` is the lease in seconds. */
const STATUS = `
  case when banned_at is not null then 'banned'
       when last_seen_at > clock_timestamp() - $1 * interval '1 second' then 'online'
       else 'offline' end`

const COLUMNS = `
  worker_id, name, owner_id, ${STATUS} as status, region, specs::text as specs, public_key,
  ${timestampText('last_seen_at')} as last_seen_at`

const INSERT = `
  insert into pool_workers (name, owner_id, region, specs, public_key)
  select $2, $3, $4, $5::json, $6
   where (select count(*) from pool_workers where owner_id = $3) < $7
      on conflict (name) do nothing
  returning ${COLUMNS}`

const IS_TAKEN = `select from pool_workers where name = $1`

const LIST = `select ${COLUMNS} from pool_workers where owner_id = $2 order by worker_id`

const SELECT = `select ${COLUMNS} from pool_workers where worker_id = $2 and owner_id = $3`

const SET_KEY = `
  with changed as (
    update pool_workers set public_key = $3 where worker_id = $1 and owner_id = $2 returning worker_id
  )
  insert into pool_audit (worker_id, action, actor_id) select worker_id, 'set_key', $2 from changed
  returning worker_id`

const WORKERS_PER_OWNER_MAX = 10_000

export interface NewWorker {
  name: string
  ownerId: number
  region: string | null
  /** JSON. */
  specs: string | null
  publicKey: string | null
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
})

export type RegisterAnswer = { ok: true; worker: WorkerView } | Refused<'worker_name_taken' | 'too_many_workers'>

export interface WorkerStore {
  register(worker: NewWorker): Promise<RegisterAnswer>
  list(ownerId: number): Promise<WorkerView[]>
  /** Null: unknown, or another owner's. */
  find(workerId: number, ownerId: number): Promise<WorkerView | null>
  setKey(workerId: number, ownerId: number, publicKey: string): Promise<WorkerView | null>
}

export function openWorkerStore({ database, leaseSec }: { database: Database; leaseSec: number }): WorkerStore {
  const find = async (workerId: number, ownerId: number) => {
    const [row] = await database.query<WorkerRow>(SELECT, [leaseSec, workerId, ownerId])
    return row === undefined ? null : workerView(row)
  }
  return {
    register: (worker) => register(database, leaseSec, worker),
    list: async (ownerId) => (await database.query<WorkerRow>(LIST, [leaseSec, ownerId])).map(workerView),
    find,
    async setKey(workerId, ownerId, publicKey) {
      const changed = await database.query(SET_KEY, [workerId, ownerId, publicKey])
      return changed.length === 0 ? null : find(workerId, ownerId)
    },
  }
}

async function register(on: Queryable, leaseSec: number, worker: NewWorker): Promise<RegisterAnswer> {
  const { name, ownerId, region, specs, publicKey } = worker
  const params = [leaseSec, name, ownerId, region, specs, publicKey, WORKERS_PER_OWNER_MAX]
  const [row] = await on.query<WorkerRow>(INSERT, params)
  if (row !== undefined) return { ok: true, worker: workerView(row) }
  const taken = await on.query(IS_TAKEN, [name])
  return refused(taken.length > 0 ? 'worker_name_taken' : 'too_many_workers')
}

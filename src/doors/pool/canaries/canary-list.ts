// Adding, listing and retiring canaries.
import type { Database } from '../../../core/db/database.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { refused, type Refused } from '../../../core/values/outcome.ts'
import type { RequirementClasses } from '../tasks/requirement-classes.ts'
import type { CanaryStock } from './canary-stock.ts'
import { timestampText } from '../wire.ts'
import type { Requirements } from '../tasks/requirements.ts'
import { removeTask } from '../tasks/task-rows.ts'

const INSERT = `
  insert into pool_canaries (class_id, payload, expected_hash, created_by)
  select $1, $2::json, $3, $4 where (select count(*) from pool_canaries where retired_at is null) < $5
  returning canary_id`

const LIST = `
  select c.canary_id, l.region, l.specs, c.payload::text as payload, c.expected_hash, ${timestampText('c.created_at')} as created_at,
         (select count(*) from pool_canary_uses u where u.canary_id = c.canary_id)::integer as used_by
    from pool_canaries c join pool_requirement_classes l on l.class_id = c.class_id
   where c.retired_at is null and c.canary_id > $1 order by c.canary_id limit $2`

const RETIRE = `
  update pool_canaries set retired_at = clock_timestamp() where canary_id = $1 and retired_at is null returning canary_id`

const WAITING = `select job_id from pool_tasks where canary_id = $1 and worker_id is null`

const LIVE_MAX = 10_000

export interface NewCanary {
  /** JSON. */
  payload: string
  expectedHash: string
  requirements: Requirements
  createdBy: number
}

export interface CanaryView {
  canary_id: number
  region: string | null
  specs: unknown
  payload: string
  expected_hash: string
  created_at: string
  used_by: number
}

export interface CanaryList {
  add(canary: NewCanary): Promise<{ ok: true; canaryId: number; expectedHash: string } | Refused<'too_many_canaries'>>
  list(page: { after: number; limit: number }): Promise<CanaryView[]>
  retire(canaryId: number): Promise<boolean>
}

export interface CanaryListDeps {
  database: Database
  ledger: Ledger
  classes: RequirementClasses
  stock: CanaryStock
}

export function openCanaryList({ database, ledger, classes, stock }: CanaryListDeps): CanaryList {
  return {
    async add({ payload, expectedHash, requirements, createdBy }) {
      const classId = await classes.classFor(null, requirements)
      const params = [classId, payload, expectedHash, createdBy, LIVE_MAX]
      const [row] = await database.query<{ canary_id: string }>(INSERT, params)
      if (row === undefined) return refused('too_many_canaries')
      stock.changed()
      return { ok: true, canaryId: Number(row.canary_id), expectedHash }
    },
    async list({ after, limit }) {
      const rows = await database.query<Omit<CanaryView, 'canary_id'> & { canary_id: string }>(LIST, [after, limit])
      return rows.map((row) => ({ ...row, canary_id: Number(row.canary_id) }))
    },
    async retire(canaryId) {
      if ((await database.query(RETIRE, [canaryId])).length === 0) return false
      const waiting = await database.query<{ job_id: string }>(WAITING, [canaryId])
      await Promise.all(
        waiting.map(({ job_id: jobId }) => {
          return ledger.cancel({ jobId, reason: 'the canary was retired', effects: [removeTask(jobId)] })
        }),
      )
      stock.changed()
      return true
    },
  }
}

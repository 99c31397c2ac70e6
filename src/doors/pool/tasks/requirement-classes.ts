// A requirement class is all jobs of one client with the same requirements. Matching works on classes: whether a worker may
// run a job is decided once per class, and fair share is between the clients of classes. A class never changes, so each
// process caches those it has seen. A class that nothing uses is deleted after a grace period, which is longer than a
// process trusts its cached id.
import { createHash } from 'node:crypto'
import { canonicalJson } from '@reeve/sdk'
import type { Database } from '../../../core/db/database.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import { isObject } from '../../../core/values/is-object.ts'
import type { Loop } from '../../../core/loop.ts'
import type { Requirements } from './requirements.ts'

const FIND_OR_INSERT = `
  with known as (
    update pool_requirement_classes set used_at = clock_timestamp() where key = $1 returning class_id
  ), added as (
    insert into pool_requirement_classes (client_id, region, specs, key)
    select $2, $3, $4, $1
     where not exists (select from known)
       and (select count(*) from pool_requirement_classes where client_id = $2) < $5
        on conflict (key) do nothing
    returning class_id
  )
  select class_id from known union all select class_id from added`

const SELECT = `
  select class_id, client_id, region, specs from pool_requirement_classes where class_id = any($1::bigint[])`

// A replayed job names its class by key: the class may have been deleted since.
const ENSURE = `
  insert into pool_requirement_classes (client_id, region, specs, key)
  select distinct on (key) client_id, region, specs, key
    from json_to_recordset($1) as r (client_id bigint, region text, specs json, key text)
      on conflict (key) do update set used_at = clock_timestamp()`

// $1: a client, or null for all.
const DELETE_UNUSED = `
  delete from pool_requirement_classes c
   where ($1::bigint is null or c.client_id = $1) and c.used_at < clock_timestamp() - $2 * interval '1 ms'
     and not exists (select from pool_tasks t where t.class_id = c.class_id)
     and not exists (select from pool_quorums q where q.class_id = c.class_id and q.ended_at is null)
     and not exists (select from pool_canaries k where k.class_id = c.class_id and k.retired_at is null)`

const CLASSES_PER_CLIENT_MAX = 1000
const CACHED_MAX = 50_000
const CACHED_ID_MS = 60_000
const UNUSED_GRACE_MS = 600_000
const DELETE_EVERY_MS = 300_000
const TRIES = 2 // an insert that lost a race finds the winner's row; a full quota may have unused classes

export interface RequirementClass extends Requirements {
  classId: number
  /** Null: canaries. */
  clientId: number | null
}

export interface RequirementClasses {
  /** Null: the client has too many. */
  classFor(clientId: number | null, requirements: Requirements): Promise<number | null>
  byId(classIds: readonly number[]): Promise<RequirementClass[]>
  loop: Loop
}

export function openRequirementClasses({ database }: { database: Database }): RequirementClasses {
  const idOf = new Map<string, { classId: number; until: number }>()
  const classById = new Map<number, RequirementClass>()

  return {
    async classFor(clientId, { region, specs }) {
      const text = specs === null ? null : canonicalJson(specs)
      const key = classKey(clientId, region, text)
      const cached = idOf.get(key)
      if (cached !== undefined && cached.until > performance.now()) return cached.classId
      for (let tries = 0; tries < TRIES; tries += 1) {
        const params = [key, clientId, region, text, CLASSES_PER_CLIENT_MAX]
        const [row] = await database.query<{ class_id: string }>(FIND_OR_INSERT, params)
        if (row !== undefined) {
          const classId = Number(row.class_id)
          remember(idOf, key, { classId, until: performance.now() + CACHED_ID_MS })
          return classId
        }
        await database.query(DELETE_UNUSED, [clientId, UNUSED_GRACE_MS])
      }
      return null
    },
    async byId(classIds) {
      const missing = classIds.filter((classId) => !classById.has(classId))
      const rows = missing.length === 0 ? [] : await database.hot.query<ClassRow>(SELECT, [missing])
      for (const row of rows) remember(classById, Number(row.class_id), classFrom(row))
      return classIds.flatMap((classId) => classById.get(classId) ?? [])
    },
    loop: {
      name: 'delete-unused-requirement-classes',
      everyMs: DELETE_EVERY_MS,
      async runOnce() {
        await database.query(DELETE_UNUSED, [null, UNUSED_GRACE_MS])
        return false
      },
    },
  }
}

/** For a replay: the class exists when the transaction commits. */
export function ensureClass(clientId: number | null, { region, specs }: Requirements): { key: string; effect: Effect } {
  const key = classKey(clientId, region, specs === null ? null : canonicalJson(specs))
  return { key, effect: { sql: ENSURE, row: { client_id: clientId, region, specs, key } } }
}

const classKey = (clientId: number | null, region: string | null, specs: string | null): string =>
  createHash('sha256')
    .update(JSON.stringify([clientId, region, specs]))
    .digest('hex')

function remember<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  if (map.size >= CACHED_MAX) map.clear()
  map.set(key, value)
}

interface ClassRow {
  class_id: string
  client_id: string | null
  region: string | null
  specs: unknown
}

const classFrom = (row: ClassRow): RequirementClass => ({
  classId: Number(row.class_id),
  clientId: row.client_id === null ? null : Number(row.client_id),
  region: row.region,
  specs: isObject(row.specs) ? row.specs : null,
})

// A lane is all jobs of one client that ask for the same worker. Matching goes by lanes: whether a worker may take a job is
// settled once for the lane, and fairness is between the clients of lanes. A lane never changes, so that each process
// remembers those it has met.
import { createHash } from 'node:crypto'
import { canonicalJson } from '@reeve/sdk'
import type { Database } from '../../../core/db/database.ts'
import { isObject } from '../../../core/is-object.ts'
import type { Requirements } from './requirements.ts'

const FIND_OR_INSERT = `
  with known as (select lane_id from pool_lanes where key = $1),
  added as (
    insert into pool_lanes (client_id, region, specs, key)
    select $2, $3, $4, $1
     where not exists (select from known) and (select count(*) from pool_lanes where client_id = $2) < $5
        on conflict (key) do nothing
    returning lane_id
  )
  select lane_id from known union all select lane_id from added`

const SELECT = `select lane_id, client_id, region, specs from pool_lanes where lane_id = any($1::bigint[])`

export const LANES_PER_CLIENT_MAX = 1000
const REMEMBERED_MAX = 50_000
const TRIES = 2 // an insert that met another one finds it the next time

export interface Lane extends Requirements {
  laneId: number
  /** Null: of canaries. */
  clientId: number | null
}

export interface Lanes {
  /** Null: the client has too many. */
  laneFor(clientId: number | null, requirements: Requirements): Promise<number | null>
  byId(laneIds: readonly number[]): Promise<Lane[]>
}

interface LaneRow {
  lane_id: string
  client_id: string | null
  region: string | null
  specs: unknown
}

export function openLanes({ database }: { database: Database }): Lanes {
  const idOf = new Map<string, number>()
  const laneOf = new Map<number, Lane>()
  const remember = <Key, Value>(map: Map<Key, Value>, key: Key, value: Value) => {
    if (map.size >= REMEMBERED_MAX) map.clear()
    map.set(key, value)
  }

  return {
    async laneFor(clientId, { region, specs }) {
      const text = specs === null ? null : canonicalJson(specs)
      const key = createHash('sha256')
        .update(JSON.stringify([clientId, region, text]))
        .digest('hex')
      const remembered = idOf.get(key)
      if (remembered !== undefined) return remembered
      for (let tries = 0; tries < TRIES; tries += 1) {
        const params = [key, clientId, region, text, LANES_PER_CLIENT_MAX]
        const [row] = await database.query<{ lane_id: string }>(FIND_OR_INSERT, params)
        if (row === undefined) continue
        remember(idOf, key, Number(row.lane_id))
        return Number(row.lane_id)
      }
      return null
    },
    async byId(laneIds) {
      const missing = laneIds.filter((laneId) => !laneOf.has(laneId))
      const rows = missing.length === 0 ? [] : await database.hot.query<LaneRow>(SELECT, [missing])
      for (const row of rows) remember(laneOf, Number(row.lane_id), laneFrom(row))
      return laneIds.flatMap((laneId) => laneOf.get(laneId) ?? [])
    },
  }
}

const laneFrom = (row: LaneRow): Lane => ({
  laneId: Number(row.lane_id),
  clientId: row.client_id === null ? null : Number(row.client_id),
  region: row.region,
  specs: isObject(row.specs) ? row.specs : null,
})

// Running matches in the database: the row that pairing inserted, with the last snapshot.
import { batched } from '../../../core/db/batch.ts'
import type { Pool } from '../../../core/db/database.ts'
import type { Match, Mode, Participant } from '../match.ts'

const COLUMNS = `m.match_id, m.mode, m.participants, m.ticks, m.tick_interval_ms, m.created_at, m.node, m.tick, m.inputs,
  (extract(epoch from clock_timestamp() - m.saved_at) * 1000)::float8 as age_ms`

// Sets the node that runs the match from now on. SAVE refuses snapshots of earlier attempts.
const CLAIM = `
  update live_matches m set attempt_id = r.attempt_id, node = $2
    from json_to_recordset($1) as r (match_id uuid, attempt_id integer)
   where m.match_id = r.match_id and m.attempt_id <= r.attempt_id
  returning ${COLUMNS}`

const SELECT = `select ${COLUMNS} from live_matches m where m.match_id = any ($1::uuid[])`

// Sends only the inputs since the last snapshot and appends them if the row still has that snapshot. Skips a row that a
// finalize has locked: it is about to be deleted, and waiting for it could deadlock.
const SAVE = `
  with mine as materialized (
    select m.match_id, r.tick, r.base, decode(r.inputs, 'base64') as inputs
      from json_to_recordset($1) as r (match_id uuid, attempt_id integer, base integer, tick integer, inputs text)
      join live_matches m on m.match_id = r.match_id
     where m.attempt_id = r.attempt_id and (r.base is null or m.tick = r.base)
       for update of m skip locked
  )
  update live_matches m
     set tick = mine.tick, saved_at = clock_timestamp(),
         inputs = case when mine.base is null then mine.inputs else m.inputs || mine.inputs end
    from mine where m.match_id = mine.match_id
  returning m.match_id`

export interface StoredMatch {
  match: Match
  node: string
  tick: number
  inputs: Uint8Array
  /** Age of the last snapshot. */
  ageMs: number
}

export interface MatchSnapshot {
  matchId: string
  attemptId: number
  /** The tick of the snapshot to which `inputs` are appended. Null: `inputs` is the whole record. */
  base: number | null
  tick: number
  inputs: Uint8Array
}

export interface MatchStore {
  /** Returns the matches that exist and have no later attempt. */
  claim(held: readonly { jobId: string; attemptId: number }[], node: string): Promise<StoredMatch[]>
  /** Null: the match is not running. Concurrent calls share a query. */
  find(matchId: string): Promise<StoredMatch | null>
  /** The ids of the matches whose snapshot was written. */
  save(snapshots: readonly MatchSnapshot[]): Promise<Set<string>>
}

export function openMatchStore(pool: Pool): MatchStore {
  // No key: several requests for the same match may share a statement.
  const find = batched<string, { live: StoredMatch | null }>({
    async run(matchIds) {
      const rows = (await pool.query<StoredMatchRow>(SELECT, [matchIds])).map(liveFrom)
      const liveOf = new Map(rows.map((live) => [live.match.matchId, live]))
      return matchIds.map((matchId) => ({ live: liveOf.get(matchId) ?? null }))
    },
  })
  return {
    async claim(held, node) {
      const rows = held.map(({ jobId, attemptId }) => ({ match_id: jobId, attempt_id: attemptId }))
      return (await pool.query<StoredMatchRow>(CLAIM, [JSON.stringify(rows), node])).map(liveFrom)
    },
    find: async (matchId) => (await find(matchId)).live,
    async save(snapshots) {
      const rows = snapshots.map(({ matchId, attemptId, base, tick, inputs }) => ({
        match_id: matchId,
        attempt_id: attemptId,
        base,
        tick,
        inputs: Buffer.from(inputs).toString('base64'),
      }))
      const saved = await pool.query<{ match_id: string }>(SAVE, [JSON.stringify(rows)])
      return new Set(saved.map((row) => row.match_id))
    },
  }
}

interface StoredMatchRow {
  match_id: string
  mode: Mode
  participants: [Participant, Participant]
  ticks: number
  tick_interval_ms: number
  created_at: Date
  node: string
  tick: number
  inputs: Buffer
  age_ms: number
}

const liveFrom = (row: StoredMatchRow): StoredMatch => ({
  match: {
    matchId: row.match_id,
    mode: row.mode,
    participants: row.participants,
    ticks: row.ticks,
    tickIntervalMs: row.tick_interval_ms,
    createdAt: row.created_at.toISOString(),
  },
  node: row.node,
  tick: row.tick,
  inputs: row.inputs,
  ageMs: row.age_ms,
})

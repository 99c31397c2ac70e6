// Running matches, as they are on disk: the row that pairing wrote, with the last snapshot in it.
import { batched } from '../../../core/db/batch.ts'
import type { Pool } from '../../../core/db/database.ts'
import type { Match, Mode, Participant } from '../match.ts'

const COLUMNS = `m.match_id, m.mode, m.participants, m.ticks, m.tick_interval_ms, m.created_at, m.node, m.tick, m.inputs,
  (extract(epoch from clock_timestamp() - m.saved_at) * 1000)::float8 as age_ms`

// Whoever runs the match from now on. What an earlier attempt still has to say is refused by SAVE.
const CLAIM = `
  update live_matches m set attempt_id = r.attempt_id, node = $2
    from json_to_recordset($1) as r (match_id uuid, attempt_id integer)
   where m.match_id = r.match_id and m.attempt_id <= r.attempt_id
  returning ${COLUMNS}`

const SELECT = `select ${COLUMNS} from live_matches m where m.match_id = any ($1::uuid[])`

const LIST = `select ${COLUMNS} from live_matches m order by m.match_id desc limit $1`

// Only what is new since the last snapshot is sent, and added if the last one is what is there. A row that a finalize has
// locked at this moment is about to go, and is left out: waiting for it could be waiting in a circle.
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

export interface LiveMatch {
  match: Match
  node: string
  tick: number
  inputs: Uint8Array
  /** Since the last snapshot. */
  ageMs: number
}

export interface Snapshot {
  matchId: string
  attemptId: number
  /** The tick of the snapshot to which `inputs` are added; null: they are all there are. */
  base: number | null
  tick: number
  inputs: Uint8Array
}

export interface MatchStore {
  /** Those that are there, under this attempt, for this node. */
  claim(held: readonly { jobId: string; attemptId: number }[], node: string): Promise<LiveMatch[]>
  /** Null: it does not run, or not any more. All who ask at once share a query. */
  find(matchId: string): Promise<LiveMatch | null>
  /** The newest first. */
  list(limit: number): Promise<LiveMatch[]>
  /** The ids of those that were taken. */
  save(snapshots: readonly Snapshot[]): Promise<Set<string>>
}

export function openMatchStore(pool: Pool): MatchStore {
  // No key: strangers may ask for one match as often as they like, and all of them are answered by one row.
  const find = batched<string, { live: LiveMatch | null }>({
    async run(matchIds) {
      const rows = (await pool.query<LiveRow>(SELECT, [matchIds])).map(liveFrom)
      const liveOf = new Map(rows.map((live) => [live.match.matchId, live]))
      return matchIds.map((matchId) => ({ live: liveOf.get(matchId) ?? null }))
    },
  })
  return {
    async claim(held, node) {
      const rows = held.map(({ jobId, attemptId }) => ({ match_id: jobId, attempt_id: attemptId }))
      return (await pool.query<LiveRow>(CLAIM, [JSON.stringify(rows), node])).map(liveFrom)
    },
    find: async (matchId) => (await find(matchId)).live,
    list: async (limit) => (await pool.query<LiveRow>(LIST, [limit])).map(liveFrom),
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

interface LiveRow {
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

const liveFrom = (row: LiveRow): LiveMatch => ({
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

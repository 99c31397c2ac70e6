// Which player is connected to which node, visible to all nodes.
//
// A player who connects while being paired must learn of the match. Connecting commits the presence first and reads the
// seat afterwards; pairing commits the seat first and reads presences afterwards. So at least one of them sees the other.
import { batched } from '../../../core/db/batch.ts'
import type { Pool } from '../../../core/db/database.ts'
import { hashSecret } from '../../../core/identity/secrets.ts'
import type { Mode } from '../match.ts'

/** Resume tokens per player. The oldest are deleted. */
const TOKENS_PER_PLAYER_MAX = 8

// With an array and a lateral: for a join PostgreSQL may scan all tokens per batch if it estimates that there are few.
const ARRIVE = `
  with asked as materialized (
    select user_id, decode(token_hash, 'hex') as token_hash
      from json_to_recordset($1) as r (user_id bigint, token_hash text)
  ), present as (
    insert into presences (user_id, node) select user_id, $2 from asked order by user_id on conflict do nothing
  ), forgotten as (
    delete from resume_tokens where token_hash = any (array(
      select old.token_hash from asked cross join lateral (
        select token_hash from resume_tokens t where t.user_id = asked.user_id
         order by created_at desc offset ${TOKENS_PER_PLAYER_MAX - 1}) as old))
  )
  insert into resume_tokens (token_hash, user_id, version, expires_at)
  select token_hash, user_id, 1, clock_timestamp() + $3 * interval '1 second' from asked`

const RETURN = `
  insert into presences (user_id, node)
  select user_id, $2 from json_to_recordset($1) as r (user_id bigint) order by user_id on conflict do nothing`

const LEAVE = `
  delete from presences
   using json_to_recordset($1) as r (user_id bigint)
   where presences.user_id = r.user_id and presences.node = $2`

const SELECT_SEATS = `
  select s.user_id, s.mode, s.expires_at, s.match_id, m.node
    from json_to_recordset($1) as r (user_id bigint)
    join seats s on s.user_id = r.user_id
    left join live_matches m on m.match_id = s.match_id
   where s.match_id is not null or s.expires_at > clock_timestamp()`

const SELECT_PRESENCES = `
  select p.user_id, p.node from json_to_recordset($1) as r (user_id bigint) join presences p on p.user_id = r.user_id`

const ANNOUNCE_NODE = `
  insert into arena_nodes (node) values ($1) on conflict (node) do update set seen_at = clock_timestamp()`

const REMOVE_NODE = `
  with gone as (delete from presences where node = $1)
  delete from arena_nodes where node = $1`

export type Seat =
  | { is: 'nowhere' }
  | { is: 'waiting'; mode: Mode; expiresAt: Date }
  | { is: 'playing'; matchId: string; /** Null: no node runs it at the moment. */ node: string | null }

export interface PlayerPresence {
  /** Stores that the player is connected here, and the hash of a new resume token. */
  arrive(arrival: { userId: number; resumeToken: string }): Promise<object>
  /** The player's last socket on this node has closed. */
  leave(userId: number): Promise<object>
  /** The player reconnected before `leave` was written. */
  stay(userId: number): Promise<object>
  seatOf(userId: number): Promise<Seat>
  /** The nodes to which these players are connected. */
  nodesOf(userIds: readonly number[]): Promise<{ userId: number; node: string }[]>
  announceNode(): Promise<void>
  removeNode(): Promise<void>
}

export interface PresenceOptions {
  pool: Pool
  node: string
  tokenTtlSec: number
}

export function openPresence({ pool, node, tokenTtlSec }: PresenceOptions): PlayerPresence {
  const usersJson = (userIds: readonly number[]) => JSON.stringify(userIds.map((userId) => ({ user_id: userId })))
  const done = (asked: readonly unknown[]) => asked.map(() => ({}))

  return {
    arrive: batched<{ userId: number; resumeToken: string }, object>({
      keyOf: ({ userId }) => String(userId),
      async run(arrivals) {
        const rows = arrivals.map(({ userId, resumeToken }) => ({
          user_id: userId,
          token_hash: hashSecret(resumeToken).toString('hex'),
        }))
        await pool.query(ARRIVE, [JSON.stringify(rows), node, tokenTtlSec])
        return done(arrivals)
      },
    }),
    leave: batched<number, object>({
      keyOf: String,
      async run(userIds) {
        await pool.query(LEAVE, [usersJson(userIds), node])
        return done(userIds)
      },
    }),
    stay: batched<number, object>({
      keyOf: String,
      async run(userIds) {
        await pool.query(RETURN, [usersJson(userIds), node])
        return done(userIds)
      },
    }),
    seatOf: batched<number, Seat>({
      keyOf: String,
      async run(userIds) {
        const rows = await pool.query<SeatRow>(SELECT_SEATS, [usersJson(userIds)])
        const rowOf = new Map(rows.map((row) => [Number(row.user_id), row]))
        return userIds.map((userId) => seatFrom(rowOf.get(userId)))
      },
    }),
    async nodesOf(userIds) {
      const rows = await pool.query<{ user_id: string; node: string }>(SELECT_PRESENCES, [usersJson(userIds)])
      return rows.map((row) => ({ userId: Number(row.user_id), node: row.node }))
    },
    announceNode: async () => void (await pool.query(ANNOUNCE_NODE, [node])),
    removeNode: async () => void (await pool.query(REMOVE_NODE, [node])),
  }
}

interface SeatRow {
  user_id: string
  mode: Mode
  expires_at: Date
  match_id: string | null
  node: string | null
}

function seatFrom(row: SeatRow | undefined): Seat {
  if (row === undefined) return { is: 'nowhere' }
  if (row.match_id === null) return { is: 'waiting', mode: row.mode, expiresAt: row.expires_at }
  return { is: 'playing', matchId: row.match_id, node: row.node }
}

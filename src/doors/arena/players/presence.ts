// Connecting and leaving, as the other nodes can see it.
//
// A player who connects while being paired must hear of the match. Here the presence is committed first and the seat is read
// afterwards; there the seat is committed first and presences are read afterwards. So one of the two sees the other.
import { batched } from '../../../core/db/batch.ts'
import type { Pool } from '../../../core/db/database.ts'
import { hashSecret } from '../../../core/identity/secrets.ts'
import type { Mode } from '../match.ts'

/** Of one player: what a client keeps between two connections is one. The oldest go. */
const TOKENS_PER_PLAYER_MAX = 8

// An array and a lateral: as a join, PostgreSQL may walk all tokens for each batch, if it believes that there are few.
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

const SHOW_NODE = `
  insert into arena_nodes (node) values ($1) on conflict (node) do update set seen_at = clock_timestamp()`

const HIDE_NODE = `
  with gone as (delete from presences where node = $1)
  delete from arena_nodes where node = $1`

export type Seat =
  | { is: 'nowhere' }
  | { is: 'waiting'; mode: Mode; expiresAt: Date }
  | { is: 'playing'; matchId: string; /** Null: nobody runs it for the moment. */ node: string | null }

export interface Presence {
  /** Writes down that the player is here, and the hash of a new resume token. */
  arrive(arrival: { userId: number; resumeToken: string }): Promise<object>
  /** The player's last socket here has closed. */
  leave(userId: number): Promise<object>
  /** Is here after all. */
  stay(userId: number): Promise<object>
  seatOf(userId: number): Promise<Seat>
  /** The nodes at which these players are connected. */
  nodesOf(userIds: readonly number[]): Promise<{ userId: number; node: string }[]>
  /** This node lives. */
  showNode(): Promise<void>
  hideNode(): Promise<void>
}

export interface PresenceOptions {
  pool: Pool
  node: string
  tokenTtlSec: number
}

export function openPresence({ pool, node, tokenTtlSec }: PresenceOptions): Presence {
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
    showNode: async () => void (await pool.query(SHOW_NODE, [node])),
    hideNode: async () => void (await pool.query(HIDE_NODE, [node])),
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

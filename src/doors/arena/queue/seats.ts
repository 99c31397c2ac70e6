// The queue. A seat is taken, given back, or expires; pairing.ts turns two of them into a match. Each of these changes the
// one row that a player can have, so that of several concurrent changes one wins and the others are refused.
import { batched } from '../../../core/db/batch.ts'
import type { Pool } from '../../../core/db/database.ts'
import { hideFromPlanner } from '../../../core/db/sql.ts'
import type { Idempotency } from '../../../core/ledger/submit/submit.ts'
import type { Mode } from '../match.ts'

// An account becomes a player with its first seat, whichever process made it. An expired seat that is not deleted yet may be taken again. An Idempotency-Key is stored with the seat (join-keys.ts).
const TAKE = `
  with asked as materialized (
    select user_id, mode, code, timeout_ms, key, body_hash
      from json_to_recordset($1) as r (user_id bigint, mode text, code text, timeout_ms integer, key text, body_hash text)
     order by user_id
  ), newcomers as (
    insert into players (user_id)
    select user_id from asked where not exists (select from players p where p.user_id = asked.user_id)
        on conflict (user_id) do nothing
  ), taken as (
    insert into seats as known (user_id, mode, code, expires_at)
    select user_id, mode, code, clock_timestamp() + timeout_ms * interval '1 ms' from asked
        on conflict (user_id) do update
           set mode = excluded.mode, code = excluded.code, number = default, joined_at = excluded.joined_at, expires_at = excluded.expires_at
         where known.match_id is null and known.expires_at <= clock_timestamp()
    returning user_id, mode, expires_at, known.xmax <> 0 as was_expired
  ), kept as (
    insert into join_keys (user_id, key, body_hash, mode, expires_at)
    select user_id, asked.key, asked.body_hash, taken.mode, taken.expires_at
      from taken join asked using (user_id) where asked.key is not null
        on conflict do nothing
  )
  select user_id, expires_at, was_expired from taken`

const GIVE_BACK = `
  delete from seats
   using json_to_recordset($1) as r (user_id bigint)
   where seats.user_id = r.user_id and ${hideFromPlanner('seats.match_id is null and seats.expires_at > clock_timestamp()')}
  returning seats.user_id`

const EXPIRE = `
  with due as materialized (
    select user_id from seats
     where match_id is null and expires_at <= statement_timestamp()
     order by expires_at limit $1 for update skip locked
  )
  delete from seats using due where seats.user_id = due.user_id and seats.match_id is null
  returning seats.user_id`

const COUNT = `select count(*)::integer as length from seats where match_id is null`

export interface SeatRequest {
  userId: number
  mode: Mode
  /** Of mode private. */
  code?: string | null
  timeoutMs: number
  /** Of a request with an Idempotency-Key. */
  idempotency: Pick<Idempotency, 'key' | 'bodyHash'> | null
}

export type SeatAnswer =
  | { ok: true; expiresAt: Date; /** An earlier wait had expired and its player was not told. */ wasExpired: boolean }
  | { ok: false }

export interface Seats {
  take(taking: SeatRequest): Promise<SeatAnswer>
  /** False: the player was not waiting. */
  giveBack(userId: number): Promise<boolean>
  /** Deletes at most `limit` expired seats and returns their players. */
  expire(limit: number): Promise<number[]>
  length(): Promise<number>
}

type UserRow = { user_id: string }

export function openSeats(pool: Pool): Seats {
  const giveBack = batched<number, { wasThere: boolean }>({
    keyOf: String,
    run: async (userIds) => {
      const rows = await pool.query<UserRow>(GIVE_BACK, [JSON.stringify(userIds.map((id) => ({ user_id: id })))])
      const gone = new Set(rows.map((row) => Number(row.user_id)))
      return userIds.map((userId) => ({ wasThere: gone.has(userId) }))
    },
  })
  return {
    take: batched({ keyOf: ({ userId }) => String(userId), run: (takings) => takeAll(pool, takings) }),
    giveBack: async (userId) => (await giveBack(userId)).wasThere,
    expire: async (limit) => (await pool.query<UserRow>(EXPIRE, [limit])).map((row) => Number(row.user_id)),
    length: async () => (await pool.query<{ length: number }>(COUNT))[0]?.length ?? 0,
  }
}

async function takeAll(pool: Pool, takings: readonly SeatRequest[]): Promise<SeatAnswer[]> {
  const rows = takings.map(({ userId, mode, code = null, timeoutMs, idempotency }) => ({
    user_id: userId,
    mode,
    code,
    timeout_ms: timeoutMs,
    key: idempotency?.key ?? null,
    body_hash: idempotency?.bodyHash ?? null,
  }))
  type TakenRow = UserRow & { expires_at: Date; was_expired: boolean }
  const taken = await pool.query<TakenRow>(TAKE, [JSON.stringify(rows)])
  const rowOf = new Map(taken.map((row) => [Number(row.user_id), row]))
  return takings.map(({ userId }) => {
    const row = rowOf.get(userId)
    return row === undefined ? { ok: false } : { ok: true, expiresAt: row.expires_at, wasExpired: row.was_expired }
  })
}

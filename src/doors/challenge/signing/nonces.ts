// Nonces: judged with their timestamps, burnt, and thrown away when their timestamps could no longer pass. Burning is an
// insert that another one in the way turns into nothing: two servers cannot both burn the same nonce. It is part of the
// statement that does the request's work, so that a nonce is burnt exactly when its request was answered.
import { batched } from '../../../core/db/batch.ts'
import type { Database, Queryable } from '../../../core/db/database.ts'
import type { Loop } from '../../../core/loop.ts'

/**
 * Common table expressions over the rows `$1`, each a nonce and what is to be done with it: `asked` has their columns,
 * `burnt` the nonces that were burnt. Of two rows with one nonce the first has it.
 */
export const burnNonces = (side: SigningSide, skewSec: number, columns: string): string => `
  asked as materialized (
    select r.*, abs(date_part('epoch', clock_timestamp()) - ts) <= ${skewSec}
                  and coalesce(date_part('epoch', clock_timestamp()) * 1000 <= not_after_ms, true) as is_fresh
      from json_to_recordset($1) as r (place integer, is_first boolean, nonce text, ts bigint, not_after_ms float8,
           ${columns})
  ), burnt as (
    insert into challenge_nonces (side, nonce)
    select '${side}', nonce from asked where is_fresh and is_first order by nonce
        on conflict do nothing
    returning nonce as burnt
  )`

/** Joins `asked` and `burnt`. */
export const IS_BURNT = 'burnt.burnt = asked.nonce and asked.is_first'

/**
 * A column of `asked left join burnt`. What was seen before is named before what is stale. (It is looked up by `select true`:
 * an `exists` may be planned as a walk over all nonces.)
 */
export const verdictOf = (side: SigningSide): string => `
  case when burnt.burnt is not null then 'burnt'
       when is_fresh then 'seen'
       when (select true from challenge_nonces as k where k.side = '${side}' and k.nonce = asked.nonce) then 'seen'
       else 'stale' end as verdict`

const burnOnly = (side: SigningSide, skewSec: number): string => `
  with ${burnNonces(side, skewSec, 'unused text')}
  select ${verdictOf(side)} from asked left join burnt on ${IS_BURNT}`

const FIND_SEEN = `
  select asked.nonce from unnest($2::text[]) as asked (nonce)
   where exists (select from challenge_nonces as known where known.side = $1 and known.nonce = asked.nonce)`

const CLEAN = `
  delete from challenge_nonces where ctid = any(array(
    select ctid from challenge_nonces
     where seen_at < statement_timestamp() - $1 * interval '1 second' limit $2))
  returning true as deleted`

const CLEAN_EVERY_MS = 3_600_000
const CLEAN_BATCH = 10_000
const KEPT_BEYOND_SEC = 60

export type SigningSide = 'solver' | 'challenger'

/** `stale`: the timestamp is outside the window, or the key's time was over, by the database's clock. */
export type NonceVerdict = 'burnt' | 'seen' | 'stale'

export interface Nonce {
  nonce: string
  /** Unix seconds. */
  ts: number
  /** Of the key that signed. */
  notAfterMs: number | null
}

/** What `burnNonces` reads of each. */
export function nonceRows(nonces: readonly Nonce[]) {
  const first = new Map(nonces.map(({ nonce }, place) => [nonce, place] as const).toReversed())
  return nonces.map(({ nonce, ts, notAfterMs }, place) => ({
    place,
    is_first: first.get(nonce) === place,
    nonce,
    ts,
    not_after_ms: notAfterMs,
  }))
}

/** A request that is refused burns its nonce as well. */
export function openBurning(
  side: SigningSide,
  skewSec: number,
): (on: Queryable, nonce: Nonce) => Promise<NonceVerdict> {
  const sql = burnOnly(side, skewSec)
  return async (on, nonce) => {
    const [row] = await on.query<{ verdict: NonceVerdict }>(sql, [JSON.stringify(nonceRows([nonce]))])
    if (row === undefined) throw new Error('A nonce got no verdict.')
    return row.verdict
  }
}

export function openSeeing(database: Database, side: SigningSide): (nonce: string) => Promise<{ seen: boolean }> {
  return batched<string, { seen: boolean }>({
    async run(nonces) {
      const rows = await database.hot.query<{ nonce: string }>(FIND_SEEN, [side, nonces])
      const seen = new Set(rows.map((row) => row.nonce))
      return nonces.map((nonce) => ({ seen: seen.has(nonce) }))
    },
  })
}

/** Twice the window and a minute: a timestamp from the future may come back that late. */
export const cleaningLoop = (database: Database, skewSec: number): Loop => ({
  name: 'throw away old nonces',
  everyMs: CLEAN_EVERY_MS,
  async runOnce() {
    const deleted = await database.query(CLEAN, [2 * skewSec + KEPT_BEYOND_SEC, CLEAN_BATCH])
    return deleted.length === CLEAN_BATCH
  },
})

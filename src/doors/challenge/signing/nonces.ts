// Nonces: checked together with their timestamps, burnt, and deleted once their timestamps could no longer pass. Burning is
// an `insert … on conflict do nothing`, so two servers cannot both burn the same nonce. It is part of the statement that
// does the request's work (solver/accept.ts, challenger/record-callback.ts): a nonce is burnt exactly when its request is
// answered. This file burns the nonces of refused requests, and looks nonces up.
import { batched } from '../../../core/db/batch.ts'
import type { Database, Queryable } from '../../../core/db/database.ts'
import { booleansParam, nullableNumbers, numbersParam, textsParam } from '../../../core/db/params.ts'
import type { Loop } from '../../../core/loop.ts'

// $1: side, $2: nonce, $3: its timestamp, $4: end of the key's validity, $5: allowed clock skew.
const BURN = `
  with checked as materialized (
    select abs(date_part('epoch', clock_timestamp()) - $3) <= $5
             and coalesce(date_part('epoch', clock_timestamp()) * 1000 <= $4::float8, true) as is_fresh
  ), burnt as (
    insert into challenge_nonces (side, nonce) select $1, $2 from checked where is_fresh
        on conflict do nothing
    returning true as is_burnt
  )
  select case when is_burnt then 'burnt'
              when is_fresh then 'seen'
              when (select true from challenge_nonces as known where known.side = $1 and known.nonce = $2) then 'seen'
              else 'stale' end as verdict
    from checked left join burnt on true`

const FIND_SEEN = `
  select asked.nonce from unnest($2::text[]) as asked (nonce)
   where exists (select from challenge_nonces as known where known.side = $1 and known.nonce = asked.nonce)`

const PRUNE = `
  delete from challenge_nonces where ctid = any(array(
    select ctid from challenge_nonces
     where seen_at < statement_timestamp() - $1 * interval '1 second' limit $2))
  returning true as deleted`

const PRUNE_EVERY_MS = 3_600_000
const PRUNE_BATCH = 10_000
const KEPT_BEYOND_SEC = 60

export type SigningSide = 'solver' | 'challenger'

/** `stale`: by the database's clock the timestamp is outside the window, or the key has expired. */
export type NonceVerdict = 'burnt' | 'seen' | 'stale'

export interface Nonce {
  nonce: string
  /** Unix seconds. */
  ts: number
  /** End of validity of the key that signed. */
  notAfterMs: number | null
}

/** The columns that a statement over several requests reads of each, as rows. */
export function nonceRows(nonces: readonly Nonce[]) {
  const first = areFirst(nonces)
  return nonces.map(({ nonce, ts, notAfterMs }, place) => ({
    place,
    is_first: first[place],
    nonce,
    ts,
    not_after_ms: notAfterMs,
  }))
}

/** The same as arrays that are parameters. */
export const nonceColumns = (nonces: readonly Nonce[]) => ({
  nonce: textsParam(nonces.map(({ nonce }) => nonce)),
  ts: numbersParam(nonces.map(({ ts }) => ts)),
  not_after_ms: nullableNumbers(nonces.map(({ notAfterMs }) => notAfterMs)),
  is_first: booleansParam(areFirst(nonces)),
})

/** Of two requests with one nonce only the first may burn it. */
function areFirst(nonces: readonly Nonce[]): boolean[] {
  const seen = new Set<string>()
  return nonces.map(({ nonce }) => seen.size < seen.add(nonce).size)
}

/** Burns the nonce of a request that is refused after its signature verified. */
export async function burnNonce(
  on: Queryable,
  { side, skewSec }: { side: SigningSide; skewSec: number },
  { nonce, ts, notAfterMs }: Nonce,
): Promise<NonceVerdict> {
  const [row] = await on.query<{ verdict: NonceVerdict }>(BURN, [side, nonce, ts, notAfterMs, skewSec])
  if (row === undefined) throw new Error('The statement that burns a nonce returned no row.')
  return row.verdict
}

/** Lookups that arrive together share one statement. */
export function openNonceLookup(database: Database, side: SigningSide): (nonce: string) => Promise<{ seen: boolean }> {
  return batched<string, { seen: boolean }>({
    async run(nonces) {
      const rows = await database.hot.query<{ nonce: string }>(FIND_SEEN, [side, nonces])
      const seen = new Set(rows.map((row) => row.nonce))
      return nonces.map((nonce) => ({ seen: seen.has(nonce) }))
    },
  })
}

/** A timestamp may lie one window in the future, so a nonce is kept for two windows and a minute. */
export const pruneNoncesLoop = (database: Database, skewSec: number): Loop => ({
  name: 'prune-nonces',
  everyMs: PRUNE_EVERY_MS,
  async runOnce() {
    const deleted = await database.query(PRUNE, [2 * skewSec + KEPT_BEYOND_SEC, PRUNE_BATCH])
    return deleted.length === PRUNE_BATCH
  },
})

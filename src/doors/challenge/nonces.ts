// Nonces: seen, burnt, and thrown away when their timestamps could no longer pass. Burning is an insert that another one
// in the way turns into nothing: two servers cannot both burn the same nonce.
import { batched } from '../../core/batch.ts'
import type { Database, Queryable } from '../../core/database.ts'
import type { Loop } from '../../core/loop.ts'

const SEE = `
  select asked.nonce, date_part('epoch', clock_timestamp()) * 1000 as now_ms,
         exists (select from challenge_nonces as known where known.side = $1 and known.nonce = asked.nonce) as seen
    from unnest($2::text[]) as asked (nonce)`

const BURN = `
  insert into challenge_nonces (side, nonce)
  select $1, nonce from unnest($2::text[]) as asked (nonce) order by nonce
      on conflict do nothing
  returning nonce`

const CLEAN = `
  delete from challenge_nonces where (side, nonce) in (
    select side, nonce from challenge_nonces
     where seen_at < statement_timestamp() - $1 * interval '1 second' limit $2)`

const CLEAN_EVERY_MS = 3_600_000
const CLEAN_BATCH = 10_000
const KEPT_BEYOND_SEC = 60

export type Side = 'solver' | 'challenger'

export interface Seen {
  seen: boolean
  /** The database's clock judges the window. */
  nowMs: number
}

export function openSeeing(database: Database, side: Side): (nonce: string) => Promise<Seen> {
  return batched<string, Seen>({
    async run(nonces) {
      const rows = await database.hot.query<{ nonce: string; seen: boolean; now_ms: number }>(SEE, [side, nonces])
      const answerOf = new Map(rows.map((row) => [row.nonce, { seen: row.seen, nowMs: row.now_ms }]))
      return nonces.flatMap((nonce) => answerOf.get(nonce) ?? [])
    },
  })
}

/** Those that were not burnt before. A nonce that is asked for twice is in the answer once. */
export async function burn(on: Queryable, side: Side, nonces: readonly string[]): Promise<Set<string>> {
  const rows = await on.query<{ nonce: string }>(BURN, [side, nonces])
  return new Set(rows.map((row) => row.nonce))
}

/** Twice the window and a minute: a timestamp from the future may come back that late. */
export const cleaningLoop = (database: Database, skewSec: number): Loop => ({
  name: 'throw away old nonces',
  everyMs: CLEAN_EVERY_MS,
  async runOnce() {
    await database.query(CLEAN, [2 * skewSec + KEPT_BEYOND_SEC, CLEAN_BATCH])
    return false
  },
})

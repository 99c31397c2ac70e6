// Idempotency-Key of a join: a request that is repeated because its answer was lost gets the first answer, even if the
// player has been paired meanwhile. (Without a key it gets queue_duplicate.) The key is stored with the seat, in one
// statement.
import type { Queryable } from '../../../core/db/database.ts'
import { idempotencyConflict } from '../../../core/http/request/idempotency.ts'
import type { Idempotency } from '../../../core/ledger/submit/submit.ts'

const SELECT = `select body_hash, mode, expires_at from join_keys where user_id = $1 and key = $2`

export interface KnownJoin {
  mode: string
  expiresAt: Date
}

/** The join with this key, or null. Throws if its body was different. */
export async function findJoin(
  on: Queryable,
  userId: number,
  { key, bodyHash }: Pick<Idempotency, 'key' | 'bodyHash'>,
): Promise<KnownJoin | null> {
  type Row = { body_hash: string; mode: string; expires_at: Date }
  const [row] = await on.query<Row>(SELECT, [userId, key])
  if (row === undefined) return null
  if (row.body_hash !== bodyHash) throw idempotencyConflict()
  return { mode: row.mode, expiresAt: row.expires_at }
}

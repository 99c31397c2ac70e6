// Idempotency-Key at the queue: a join that is repeated because its answer was lost is answered as the first time, also when
// the player has been matched meanwhile. (Without a key it is told that it is in the queue already.) The key is written
// with the seat, in one statement.
import type { Queryable } from '../../../core/db/database.ts'
import { idempotencyConflict } from '../../../core/http/request/idempotency.ts'
import type { Idempotency } from '../../../core/ledger/submit/submit.ts'

const SELECT = `select body_hash, mode, expires_at from join_keys where user_id = $1 and key = $2`

export interface KnownJoin {
  mode: string
  expiresAt: Date
}

/** The join that has had this key. Null: none. Throws if that one asked for something else. */
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

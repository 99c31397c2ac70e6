// A resume token lets a player return to a running match. It is single use: one statement deletes it and inserts the next,
// so that of two concurrent uses one succeeds. Another account cannot use or delete it.
import { batched } from '../../../core/db/batch.ts'
import type { Pool } from '../../../core/db/database.ts'
import { hashSecret } from '../../../core/identity/secrets.ts'
import { newSecret } from '../../../core/random.ts'

const ROTATE = `
  with asked as materialized (
    select user_id, decode(used_hash, 'hex') as used_hash, decode(next_hash, 'hex') as next_hash
      from json_to_recordset($1) as r (user_id bigint, used_hash text, next_hash text)
  ), used as (
    delete from resume_tokens t using asked
     where t.token_hash = asked.used_hash and t.user_id = asked.user_id and t.expires_at > clock_timestamp()
    returning asked.user_id, asked.next_hash, t.version
  )
  insert into resume_tokens (token_hash, user_id, version, expires_at)
  select next_hash, user_id, version + 1, clock_timestamp() + $2 * interval '1 second' from used
  returning encode(token_hash, 'hex') as next_hash, version`

const TOKEN = /^[0-9a-f]{64}$/

export interface Rotation {
  userId: number
  token: string
}

export type Rotated = { ok: true; resumeToken: string; version: number } | { ok: false }

export type RotateToken = (rotation: Rotation) => Promise<Rotated>

export function openResumeTokens(pool: Pool, ttlSec: number): RotateToken {
  // No key: of several uses of one token in a statement, one deletes the row.
  const rotate = batched<Rotation, Rotated>({
    async run(rotations) {
      const asked = rotations.map(({ userId, token }) => ({ userId, token, next: newSecret() }))
      const rows = asked.map(({ userId, token, next }) => ({
        user_id: userId,
        used_hash: hashSecret(token).toString('hex'),
        next_hash: hashSecret(next).toString('hex'),
      }))
      const made = await pool.query<{ next_hash: string; version: number }>(ROTATE, [JSON.stringify(rows), ttlSec])
      const versionOf = new Map(made.map((row) => [row.next_hash, row.version]))
      return asked.map(({ next }, index) => {
        const version = versionOf.get(rows[index]?.next_hash ?? '')
        return version === undefined ? { ok: false } : { ok: true, resumeToken: next, version }
      })
    },
  })
  return async (rotation) => (TOKEN.test(rotation.token) ? rotate(rotation) : { ok: false })
}

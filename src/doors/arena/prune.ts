// Deletes expired resume tokens and join keys, the presences of dead nodes, and rank counts that reached zero.
import type { Pool } from '../../core/db/database.ts'
import type { Loop } from '../../core/loop.ts'

const EVERY_MS = 60_000
const ROWS_MAX = 1000

const DELETE_TOKENS = `
  delete from resume_tokens where token_hash = any (array(
    select token_hash from resume_tokens where expires_at <= statement_timestamp() limit $1)) returning true as gone`
const DELETE_KEYS = `
  delete from join_keys where ctid = any (array(
    select ctid from join_keys where created_at < statement_timestamp() - interval '48 hours' limit $1)) returning true as gone`
const DELETE_COUNTS = `
  delete from rank_blocks where players = 0 and (place, block) in (
    select place, block from rank_blocks where players = 0 order by place, block limit $1 for update skip locked)
  returning true as gone`
const DELETE_NODES = `
  with lost as (
    delete from arena_nodes where seen_at < statement_timestamp() - interval '1 minute' returning node
  )
  delete from presences p
   where p.node in (select node from lost) or not exists (select from arena_nodes n where n.node = p.node)`

export const pruneLoop = (pool: Pool): Loop => ({
  name: 'prune-arena',
  everyMs: EVERY_MS,
  async runOnce() {
    await pool.query(DELETE_NODES)
    const gone = []
    for (const sql of [DELETE_TOKENS, DELETE_KEYS, DELETE_COUNTS]) gone.push((await pool.query(sql, [ROWS_MAX])).length)
    return gone.includes(ROWS_MAX)
  },
})

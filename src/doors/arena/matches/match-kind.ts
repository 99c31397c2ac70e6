// The kind `match`: a job that a node runs for two players. A job that ends otherwise (an admin cancels it) leaves a void
// match and frees its players.
import type { Database } from '../../../core/db/database.ts'
import type { Kind } from '../../../core/executor/kind.ts'
import { MATCH_KIND } from '../match.ts'
import { effectsOfVoid } from './result-effects.ts'

// As of the last snapshot.
const TICKS = `select match_id, tick, ticks from live_matches where match_id = any($1::uuid[])`

export const matchKind = (database: Pick<Database, 'query'>): Kind => ({
  name: MATCH_KIND,
  effectsOfDeath: ({ jobId }) => effectsOfVoid(jobId),
  async contextOf(jobs) {
    type Row = { match_id: string; tick: number; ticks: number }
    const rows = await database.query<Row>(TICKS, [jobs.map(({ jobId }) => jobId)])
    return new Map(rows.map((row) => [row.match_id, { progress: { done: row.tick, total: row.ticks, unit: 'ticks' } }]))
  },
})

// A plan that was made when the statistics said "empty" may walk the whole table, and a prepared statement keeps it until
// the table is analyzed again. Autovacuum does that within a minute or two, which is long at thousands of rows a second. So
// this loop analyzes a table as soon as it has outgrown its statistics; that makes every connection plan anew.
import type { Loop } from '../loop.ts'
import type { Database } from './database.ts'

const EVERY_MS = 1000
const PAGES_MIN = 8
const GROWTH = 10 // since the last analyze

// reltuples is -1 for a table that was never analyzed: the planner then assumes ten pages, which gives good plans.
const FIND_GROWN = `
  select format('%I.%I', n.nspname, c.relname) as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where c.relkind = 'r' and n.nspname = current_schema() and c.reltuples >= 0
     and pg_relation_size(c.oid) > current_setting('block_size')::bigint * greatest(${PAGES_MIN}, ${GROWTH} * c.relpages)`

/** Any number of processes may run it: whoever comes second skips a table that is being analyzed. */
export const analyzeGrownLoop = (database: Database): Loop => ({
  name: 'analyze-grown-tables',
  everyMs: EVERY_MS,
  isDue: `exists (${FIND_GROWN})`,
  runOnce: () => analyzeGrown(database),
})

export async function analyzeGrown(database: Database): Promise<boolean> {
  const grown = await database.query<{ name: string }>(FIND_GROWN)
  for (const { name } of grown) {
    await database.transaction((tx) => tx.script(`analyze (skip_locked) ${name}`))
  }
  return false
}

// A search reads a bounded number of rows in every statement, however many jobs there are and however few match.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Queryable } from '../../src/core/db/database.ts'
import { countMatching, forSearch, searchJobs, type JobSearch } from '../../src/core/ledger/search.ts'
import { setupLedger } from '../support/ledger.ts'
import { scansIn, type PlanNode } from '../support/plans.ts'
import { rows } from '../support/size.ts'

const FILL = `
  insert into jobs (job_id, kind, state, priority, rank, payload, attempt_id, lease_owner, reason, finished_at)
  select (lpad(to_hex(1700000000000 + n), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid,
         case when n % 1000 = 0 then 'rare' else 'usual' end, (case when n % 10 = 0 then 'dead' else 'done' end)::job_state,
         5, n, '{}', 1, 'w', case when n % 10 = 0 then 'reason ' || n end, now()
    from generate_series(1, ${rows(100_000)}) as n`
const FILL_LIVE = `
  insert into jobs (job_id, kind, priority, rank, payload)
  select (lpad(to_hex(1600000000000 + n), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid, 'usual', 5, n, '{}'
    from generate_series(1, $1::integer) as n`

const FEW_LIVE = 50
const MANY_LIVE = 20_000
const ROWS_MAX = 8000 // a page of candidates of each kind

const SEARCHES: readonly JobSearch[] = [
  {},
  { kind: 'rare' },
  { kind: 'missing' },
  { state: 'done', kind: 'rare' },
  { state: 'dead' },
  { state: 'dead', kind: 'rare' },
  { state: 'dead', reason: 'no such reason' },
  { state: 'pending' },
  { state: 'processing', kind: 'usual' },
  { owner: 'nobody' },
  { traceId: 'none' },
  { since: '018bcfe5-6800-0000-0000-000000000000', accountId: 5 },
]

test('no statement of a search or count touches more than a page of candidates, with few and with many live jobs', async (t) => {
  const { database } = await setupLedger(t)
  await database.query(FILL)
  const wrong: string[] = []
  let longestMs = 0
  let statements = 0

  const explained = (on: Queryable): Queryable => ({
    async query(sql, params = []) {
      type Explained = { 'QUERY PLAN': { Plan: PlanNode; 'Execution Time': number }[] }
      const [row] = await on.query<Explained>(`explain (analyze, timing off, format json) ${sql}`, params)
      const explanation = row?.['QUERY PLAN'][0]
      assert(explanation !== undefined)
      statements += 1
      longestMs = Math.max(longestMs, explanation['Execution Time'])
      for (const { node, rows: touched } of scansIn(explanation.Plan, ['jobs'])) {
        if (touched > ROWS_MAX) wrong.push(`${node}: ${touched}`)
      }
      return on.query(sql, params)
    },
  })
  for (const live of [FEW_LIVE, MANY_LIVE]) {
    await database.query('delete from jobs where finished_at is null')
    await database.query(FILL_LIVE, [live])
    await database.query('analyze jobs')
    for (const search of SEARCHES) {
      await forSearch(database, (on) => searchJobs(explained(on), search, 100))
      await forSearch(database, (on) => countMatching(explained(on), search))
    }
  }

  t.diagnostic(`${statements} statements, the longest ${Math.round(longestMs)} ms`)
  assert.deepEqual(wrong, [])
})

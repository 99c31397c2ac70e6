// The hot statements keep one plan for as long as their connection lives. It must be a good one whether it was made on an
// empty table or on a full one: rows are found by an index, and only the rows that are meant.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Registry } from 'prom-client'
import { analyzeGrown } from '../../src/core/db/analyze-grown.ts'
import type { Database } from '../../src/core/db/database.ts'
import { openEvents } from '../../src/core/events/events.ts'
import type { Ledger } from '../../src/core/ledger/ledger.ts'
import { countJobs } from '../../src/core/ledger/read.ts'
import { dispatchOnce, settleDelivered } from '../../src/core/outbox/dispatcher.ts'
import { openOutboxMetrics } from '../../src/core/outbox/metrics.ts'
import { atEnd } from '../support/cleanup.ts'
import { deafBus, openTestLedger, setupLedger } from '../support/ledger.ts'
import { recording, scansOf, type Statement } from '../support/plans.ts'
import { note, UNKNOWN_JOB } from './dump.ts'
import { rows } from '../support/size.ts'

const FILL = `
  insert into jobs (job_id, kind, state, priority, rank, payload, attempt_id, lease_owner, finished_at)
  select gen_random_uuid(), 'echo', 'done', 5, n, '{}', 1, 'w', now() from generate_series(1, ${rows(200_000)}) as n;
  insert into jobs (job_id, kind, priority, rank, payload)
  select gen_random_uuid(), 'echo', 5, 2000000000000000 + n, '{}' from generate_series(1, ${rows(20_000)}) as n;
  insert into jobs (job_id, kind, priority, rank, payload, due_at)
  select gen_random_uuid(), 'echo', 5, n, '{}', now() + interval '1 day' from generate_series(1, ${rows(5_000)}) as n;
  insert into jobs (job_id, kind, state, priority, rank, payload, attempt_id, lease_owner, lease_until, started_at)
  select gen_random_uuid(), 'echo', 'processing', 5, 3000000000000000 + n, '{}', 1, 'w', now() + interval '1 day', now()
    from generate_series(1, ${rows(2_000)}) as n;
  insert into outbox_events (topic, payload, next_attempt_at)
  select 'note', '{}', now() + interval '1 day' from generate_series(1, ${rows(20_000)})`

const TABLES = ['jobs', 'attempts', 'outbox_events', 'idempotency_keys']

/** A page of repair is the longest look that any of them takes. */
const ROWS_MAX = 10_000
const ROWS_USUAL = 20

for (const [analyzed, when] of [
  [false, 'an empty table'],
  [true, 'an empty table that was analyzed'],
] as const)
  test(`every hot statement finds its rows by index, with a plan made on ${when} and on a full one`, async (t) => {
    const { database } = await setupLedger(t)
    const statements = await hotStatements(t, database)
    await database.query('truncate jobs, attempts, outbox_events, idempotency_keys cascade')

    const found = await scansOf(database, statements, { fill: FILL, tables: TABLES, analyzed })

    assert(statements.length >= 20, `only ${statements.length} statements were seen`)
    for (const { when, sql, node, rows } of found) {
      assert(!node.startsWith('Seq Scan'), `${when}: ${node} in ${sql}`)
      const most = sql.includes('with page as') ? ROWS_MAX : ROWS_USUAL
      assert(rows <= most, `${when}: ${node} touched ${rows} rows in ${sql}`)
    }
  })

test('counting jobs reads no done job: it has no sequential scan', async (t) => {
  const { database } = await setupLedger(t)
  const seen = new Map<string, Statement>()
  await countJobs(recording(database, seen).hot)

  const found = await scansOf(database, [...seen.values()], { fill: FILL, tables: TABLES, analyzed: true })

  for (const { when, sql, node } of found) assert(!node.startsWith('Seq Scan'), `${when}: ${node} in ${sql}`)
})

test('a table whose size in bytes exceeds an integer does not stop the loop', async (t) => {
  const { database } = await setupLedger(t)
  await database.query('create table if not exists huge (n integer)')
  atEnd(t, () => database.query('drop table huge'))
  await database.query(`update pg_class set relpages = 300000, reltuples = 1 where oid = 'huge'::regclass`)

  assert.equal(await analyzeGrown(database), false)
})

test('a table that was analyzed when it was empty is analyzed again once it has grown, and kept plans with it', async (t) => {
  const { database } = await setupLedger(t)
  await database.query('create table if not exists grown (id integer primary key, n integer not null)')
  await database.query('truncate grown')
  await database.query('analyze grown')

  await database.hot.inTurn(async (on) => {
    await on.query(`
      prepare touch as update grown set n = n + 1 from unnest($1::integer[]) as asked (id) where grown.id = asked.id`)
    const planned = async () => {
      const lines = await on.query<{ 'QUERY PLAN': string }>(`explain (costs off) execute touch('{5}')`)
      return lines.map((line) => line['QUERY PLAN']).join('\n')
    }
    const onEmpty = await planned()
    await database.query('insert into grown select n, 0 from generate_series(1, 5000) as n')
    const kept = await planned()
    await analyzeGrown(database)

    assert.match(onEmpty, /Join Filter/) // without this plan the test would show nothing
    assert.equal(kept, onEmpty)
    assert.match(await planned(), /Index Cond: \(id = asked\.id\)/)
  })
})

/** What the ledger, the dispatcher and the log of events send to the hot pool when everything is done once. */
async function hotStatements(t: TestContext, database: Database): Promise<Statement[]> {
  const seen = new Map<string, Statement>()
  const ledger = openTestLedger({ database: recording(database, seen), bus: deafBus })
  atEnd(t, () => ledger.close())
  await doEverything(ledger, database)
  const metrics = openOutboxMetrics(new Registry())
  await dispatchOnce(
    recording(database, seen),
    {
      topic: 'note',
      rowsMax: 10,
      keeps: false,
      retry: { baseMs: 1, maxMs: 1 },
      attemptsMax: null,
      deliver: async (rows) => rows.map((_, n) => (n > 0 ? { ok: true } : { ok: false, error: 'x' })),
    },
    metrics,
    new AbortController().signal,
  )
  const events = openEvents(recording(database, seen), deafBus, () => {})
  const event = events.effect({ channel: 'c', type: 'noted', payload: 1 })
  await database.query(event.sql, [JSON.stringify([event.row])])
  await events.transfer.transfer()
  const row = { topic: 'feed', jobId: UNKNOWN_JOB, entryId: '1-0' }
  for (const keeps of [true, false]) await settleDelivered(recording(database, seen).hot, [row], keeps)
  return [...seen.values()]
}

async function doEverything(ledger: Ledger, database: Database): Promise<void> {
  const submitted = await ledger.submitMany(Array.from({ length: 8 }, () => ({ kind: 'echo', payload: 1 })))
  const ids = submitted.flatMap((answer) => (answer.ok ? [answer.jobId] : []))
  const take = async (index: number) => {
    const answer = await ledger.acquire({ jobId: ids[index] ?? '', owner: 'w', leaseMs: 60_000 })
    assert(answer.ok)
    return answer.job
  }
  await ledger.submit({ kind: 'echo', payload: 1, idempotency: { scope: 's', key: 'k', bodyHash: 'b' } })
  const held = await take(0)
  await ledger.renew({ ...held, leaseMs: 60_000 })
  await ledger.finalize({ ...held, result: 1, effects: [note(held.jobId)] })
  await Promise.all([1, 2].map((result) => ledger.finalize({ ...held, jobId: ids[result] ?? '', result })))
  await ledger.finalize({ ...held, result: 1 })
  await ledger.fail({ ...(await take(1)), error: 'x', retryMs: 0 })
  await ledger.release(await take(2))
  const lost = await take(3)
  await database.query('update jobs set lease_until = clock_timestamp() where job_id = $1', [lost.jobId])
  await take(3)
  await ledger.acquire({ jobId: UNKNOWN_JOB, owner: 'w', leaseMs: 1 })
  await ledger.cancel({ jobId: ids[4] ?? '', reason: 'x', effects: [note(ids[4] ?? '')] })
  await ledger.bury({ jobId: ids[5] ?? '', reason: 'x' })
  await ledger.acquireNextFrom(null, { kind: 'echo', limit: 5, owner: 'w', leaseMs: 60_000 })
  await ledger.acquireNextFrom(0, { kind: 'echo', limit: 5, owner: 'w', leaseMs: 60_000 })
  await ledger.acquireNextFrom(0, { kind: 'echo', limit: 5, owner: 'w', leaseMs: 60_000, exclusively: true })
  await ledger.get(held.jobId)
  await ledger.promoteDue(5)
  await ledger.nextDueMs()
  await ledger.findAbandoned({ kinds: ['echo'], exhausted: false })
  await ledger.findWaiting({ kind: 'echo', olderThanMs: 0, after: null, limit: 5 })
}

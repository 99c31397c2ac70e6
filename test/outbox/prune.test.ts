import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pruneOutbox } from '../../src/core/outbox/prune.ts'
import { pruneAttempts } from '../../src/core/deliveries/attempt-log.ts'
import { testDatabase } from '../support/database.ts'

const { signal } = new AbortController()

/** Passes until it says that there is no more. */
async function clean(loop: ReturnType<typeof pruneOutbox>): Promise<number> {
  for (let passes = 1; passes < 100; passes += 1) if (!(await loop.runOnce(signal))) return passes
  return assert.fail('it never ends')
}

test('delivered rows of the outbox are thrown away when they are old; pending and dead ones stay', async (t) => {
  const { database } = await testDatabase(t)
  await database.query(`
    insert into outbox_events (topic, payload, status, created_at)
    select 'letters', '{}', (array['delivered', 'dead', 'pending'])[1 + n % 3], now() - interval '31 days'
      from generate_series(0, 8) as n`)
  await database.query(`
    insert into outbox_events (topic, payload, status, created_at)
    select 'letters', '{}', 'delivered', now() - interval '29 days' from generate_series(0, 8) as n`)
  const loop = pruneOutbox(database, { feed: 30, deliveries: 30 }, 4)

  const passes = await clean(loop)
  const again = await clean(loop)

  assert.equal(passes, 3) // two pages of old ones, and one that ends with a young one
  assert.equal(again, 2) // it begins at the beginning
  const left = await database.query(
    'select status, count(*)::integer from outbox_events group by status order by status',
  )
  assert.deepEqual(left, [
    { status: 'dead', count: 3 },
    { status: 'delivered', count: 9 },
    { status: 'pending', count: 3 },
  ])
})

test('the log of delivery attempts is pruned when it is old', async (t) => {
  const { database } = await testDatabase(t)
  await database.query(`
    insert into delivery_attempts (topic, subject, request_id, outbox_id, attempt, url, duration_ms, created_at)
    select 'letters', 'c' || n, 'r', n, 1, 'https://a.example/', 1, now() - (35.5 - n) * interval '1 day'
      from generate_series(0, 9) as n`)

  const passes = await clean(pruneAttempts(database, 30, 2))

  assert.equal(passes, 4)
  const left = await database.query('select subject from delivery_attempts order by delivery_attempt_id')
  assert.deepEqual(
    left.map((row) => row['subject']),
    ['c6', 'c7', 'c8', 'c9'],
  )
})

test('rows of the feed and of signed requests are kept for as long as each is set to', async (t) => {
  const { database } = await testDatabase(t)
  await database.query(`
    insert into outbox_events (topic, payload, status, created_at)
    select (array['feed', 'feed_batch', 'letters'])[1 + n % 3], '{}', 'delivered', now() - (n / 3 + 0.5) * interval '1 day'
      from generate_series(29, 0, -1) as n`)

  await clean(pruneOutbox(database, { feed: 2, deliveries: 5 }, 4))

  assert.deepEqual(
    await database.query('select topic, count(*)::integer from outbox_events group by topic order by topic'),
    [
      { topic: 'feed', count: 2 },
      { topic: 'feed_batch', count: 2 },
      { topic: 'letters', count: 5 },
    ],
  )
})

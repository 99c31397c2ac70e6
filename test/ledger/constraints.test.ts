// The last guard: what no statement of ours does, the table refuses to hold.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqlState } from '../../src/core/db/database.ts'
import { setupLedger } from '../support/ledger.ts'

const CHECK = '23514'
const UNIQUE = '23505'
const NOT_NULL = '23502'
const FOREIGN_KEY = '23503'
const NO_SUCH_VALUE = '22P02'

const VIOLATIONS: readonly { name: string; sql: string; code: string }[] = [
  { name: 'a state that does not exist', sql: `update jobs set state = 'lost'`, code: NO_SUCH_VALUE },
  { name: 'a pending job with a lease', sql: `update jobs set lease_until = now()`, code: CHECK },
  {
    name: 'a processing job with no lease',
    sql: `update jobs set state = 'processing', lease_owner = 'w'`,
    code: CHECK,
  },
  {
    name: 'a processing job with no owner',
    sql: `update jobs set state = 'processing', lease_until = now(), started_at = now(), attempt_id = 1`,
    code: CHECK,
  },
  { name: 'a done job with no end', sql: `update jobs set state = 'done'`, code: CHECK },
  { name: 'a pending job with an end', sql: `update jobs set finished_at = now()`, code: CHECK },
  { name: 'a dead job with no reason', sql: `update jobs set state = 'dead', finished_at = now()`, code: CHECK },
  {
    name: 'a done job with a reason to be dead',
    sql: `update jobs set state = 'done', finished_at = now(), reason = 'x'`,
    code: CHECK,
  },
  {
    name: 'a done job that is still leased',
    sql: `update jobs set state = 'done', finished_at = now(), lease_until = now()`,
    code: CHECK,
  },
  {
    name: 'a processing job that is not due',
    sql: `update jobs set state = 'processing', lease_owner = 'w', lease_until = now(), due_at = now()`,
    code: CHECK,
  },
  {
    name: 'a processing job with a reason to be dead',
    sql: `update jobs set state = 'processing', lease_owner = 'w', lease_until = now(), reason = 'x'`,
    code: CHECK,
  },
  {
    name: 'a dead job with a result',
    sql: `update jobs set state = 'dead', finished_at = now(), reason = 'x', result = '1'`,
    code: CHECK,
  },
  {
    name: 'a done job that is delayed',
    sql: `update jobs set state = 'done', finished_at = now(), due_at = now()`,
    code: CHECK,
  },
  { name: 'a pending job with a result', sql: `update jobs set result = '1'`, code: CHECK },
  { name: 'no attempts at all', sql: `update jobs set max_attempts = 0`, code: CHECK },
  { name: 'no payload', sql: `update jobs set payload = null`, code: NOT_NULL },
  {
    name: 'a replay of nothing',
    sql: `update jobs set replay_of = '0190a000-0000-7000-8000-000000000000'`,
    code: FOREIGN_KEY,
  },
  {
    name: 'a new job that replays nothing',
    sql: `insert into jobs (job_id, kind, priority, rank, payload, replay_of)
          values (gen_random_uuid(), 'echo', 1, 1, '1', '0190a000-0000-7000-8000-000000000000')`,
    code: FOREIGN_KEY,
  },
  {
    name: 'two replays of one job',
    sql: `insert into jobs (job_id, kind, priority, rank, payload, replay_of)
          select gen_random_uuid(), 'echo', 1, 1, '1', job_id from jobs, generate_series(1, 2)`,
    code: UNIQUE,
  },
  {
    name: 'the same job twice',
    sql: `insert into jobs (job_id, kind, priority, rank, payload) select job_id, 'echo', 1, 1, '1' from jobs`,
    code: UNIQUE,
  },
  {
    name: 'an attempt that ended twice',
    sql: `insert into attempts (job_id, attempt_id, owner, started_at, outcome)
          select job_id, 1, 'w', now(), 'failed' from jobs, generate_series(1, 2)`,
    code: UNIQUE,
  },
  {
    name: 'an attempt with an unknown outcome',
    sql: `insert into attempts (job_id, attempt_id, owner, started_at, outcome)
          select job_id, 1, 'w', now(), 'done' from jobs`,
    code: CHECK,
  },
  {
    name: 'an idempotency key twice',
    sql: `insert into idempotency_keys (scope, key, body_hash, job_id)
          select 's', 'k', 'h', job_id from jobs, generate_series(1, 2)`,
    code: UNIQUE,
  },
  {
    name: 'two announcements of one job on one topic',
    sql: `insert into outbox_events (job_id, topic, payload) select job_id, 'feed', '1' from jobs, generate_series(1, 2)`,
    code: UNIQUE,
  },
]

test('the tables refuse what no transition would write', async (t) => {
  const { database, submit } = await setupLedger(t)
  await submit()

  for (const { name, sql, code } of VIOLATIONS) {
    await t.test(name, async () => {
      await assert.rejects(database.query(sql), (error) => sqlState(error) === code)
    })
  }
})

test('deleting a job deletes its attempts, and is refused while a replay names it', async (t) => {
  const { database, submit } = await setupLedger(t)
  await submit()
  await database.query(`insert into attempts (job_id, attempt_id, owner, started_at, outcome)
    select job_id, 1, 'w', now(), 'failed' from jobs`)
  await database.query(`insert into jobs (job_id, kind, priority, rank, payload, replay_of)
    select gen_random_uuid(), 'echo', 1, 1, '1', job_id from jobs`)
  const attempts = async () => (await database.query('select from attempts')).length

  await assert.rejects(
    database.query('delete from jobs where replay_of is null'),
    (error) => sqlState(error) === FOREIGN_KEY,
  )
  assert.equal(await attempts(), 1)

  await database.query('delete from jobs')
  assert.equal(await attempts(), 0)
})

// The outbox between the submission and the stream, from outside.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cannotTest } from '../../judge/rig.ts'
import { until } from '../../support/until.ts'
import { freePort } from '../../support/servers.ts'
import { metric, redisFor, STREAM, GROUP } from './feeds.ts'
import { ask, judged, openClient, setup, submit, TWICE } from './setup.ts'

// A pause of the machine for some seconds costs no lease.
const WITHOUT_GRACE = { JOB_LEASE_SEC: '10', JOB_HEARTBEAT_SEC: '2', JOB_RECLAIM_GRACE_SEC: '0' }

describe('judge D1: the outbox', { skip: cannotTest }, () => {
  test('judge D1: a submission is accepted while Redis is away, and judged once it is back', async (t) => {
    const port = await freePort()
    const first = await redisFor(t, { port })
    const { url, ann, at } = await setup(t, { env: { REDIS_URL: first.url } })
    const client = await openClient(t, at)
    await first.stop()

    const accepted = await submit(url, ann, { code: TWICE.accepted })
    const { rows } = await client.query(`select payload, status from outbox_events where topic = 'feed'`)
    await redisFor(t, { port })
    const result = await judged(url, ann, accepted.body.job_id)

    assert.equal(accepted.status, 202)
    assert.deepEqual(
      rows.map(({ status }) => status),
      ['pending'],
    )
    assert.equal(result.verdict, 'AC')
    await until('nothing waits', async () => (await metric(url, 'api_outbox_pending')) === 0)
  })

  test('judge D1: a delivered row stays, with its time, its entry and what rebuilds the task', async (t) => {
    const { url: redisUrl, entries } = await redisFor(t)
    const { url, ann, at } = await setup(t, { role: 'serve', env: { REDIS_URL: redisUrl } })
    const client = await openClient(t, at)

    const { body } = await submit(url, ann, { code: TWICE.accepted })
    const task = async () => (await client.query(`select * from outbox_tasks where job_id = $1`, [body.job_id])).rows
    await until('its row is marked', async () => (await task())[0]?.status === 'delivered')

    const [entry] = await entries()
    const [row, ...others] = await task()
    assert.deepEqual(others, [])
    assert.deepEqual(
      [row?.stream_entry_id, row?.dispatched_at instanceof Date, row?.last_error],
      [entry?.id, true, null],
    )
    const { job_id: jobId, kind, priority, payload } = row?.payload ?? {}
    assert.deepEqual([jobId, kind, priority, payload.code], [body.job_id, 'judge', 5, TWICE.accepted])
    assert.equal(await metric(url, 'api_outbox_pending'), 0)
  })

  test('judge D1: with OUTBOX_KEPT_DAYS=0 a delivered row is deleted at once', async (t) => {
    const redis = await redisFor(t)
    const { url, ann, at } = await setup(t, { env: { REDIS_URL: redis.url, OUTBOX_KEPT_DAYS: '0' } })
    const client = await openClient(t, at)

    const accepted = await submit(url, ann, { code: TWICE.accepted })
    await judged(url, ann, accepted.body.job_id)

    await until('the outbox is empty', async () => (await client.query('select from outbox_events')).rowCount === 0)
  })

  test('judge INV-8: a submission, its row in the list and its announcement are there together', async (t) => {
    const redis = await redisFor(t)
    const { url, ann, at } = await setup(t, { role: 'serve', env: { REDIS_URL: redis.url } })
    const client = await openClient(t, at)
    await redis.stop() // so that the announcement stays in the outbox

    const { body } = await submit(url, ann, { code: TWICE.accepted })
    await submit(url, ann, { code: '' })
    const { rows } = await client.query(`
      select jobs.job_id from jobs join judge_submissions using (job_id) join outbox_events using (job_id) where topic = 'feed'`)
    const { rows: counts } = await client.query(`
      select (select count(*)::int from jobs) as jobs, (select count(*)::int from judge_submissions) as submissions,
             (select count(*)::int from outbox_events) as announcements`)

    assert.deepEqual(rows, [{ job_id: body.job_id }])
    assert.deepEqual(counts, [{ jobs: 1, submissions: 1, announcements: 1 }])
  })

  test('judge INV-1: an acknowledged entry does not finish a submission', async (t) => {
    const { url: redisUrl, redis, entries, pending } = await redisFor(t)
    const { url, ann } = await setup(t, { role: 'serve', env: { REDIS_URL: redisUrl } })
    const { body } = await submit(url, ann, { code: TWICE.accepted })
    await until('it is announced', async () => (await entries()).length === 1)
    await redis.call('XGROUP', 'CREATE', STREAM, GROUP, '0').catch(() => {}) // a worker may have made it
    await redis.call('XREADGROUP', 'GROUP', GROUP, 'somebody', 'COUNT', 1, 'STREAMS', STREAM, '>')

    for (const { id } of await pending()) await redis.xack(STREAM, GROUP, id)
    const { body: status } = await ask(`${url}/status/${body.job_id}`, { headers: ann })

    assert.deepEqual(await pending(), [])
    assert.notEqual(status.status, 'FINISHED')
    assert.equal(status.verdict, undefined)
  })

  test('judge INV-3: an entry that is delivered twice is judged once', async (t) => {
    const { url: redisUrl, redis, pending, letLie } = await redisFor(t)
    const { url, ann } = await setup(t, { env: { REDIS_URL: redisUrl, ...WITHOUT_GRACE } })
    const { body } = await submit(url, ann, { code: TWICE.slow })
    await until('it is being judged', async () => (await pending()).length === 1)
    const again = [
      'job_id',
      body.job_id,
      'enqueue_ts',
      '1',
      'payload_ref',
      `task:payload:${body.job_id}`,
      'priority',
      '5',
    ]

    await redis.xadd(STREAM, '*', ...again)
    const result = await judged(url, ann, body.job_id)
    await until('the second was looked at', async () => {
      await letLie() // it is left to its holder while the lease lives
      return (await pending()).length === 0
    })

    assert.deepEqual([result.verdict, result.attempt_id], ['TLE', 1])
    assert.equal(await metric(url, 'judge_verdict_total{verdict="TLE"}'), 1)
  })
})

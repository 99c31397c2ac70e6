// judge C1–C6 and D1, from the submission to the verdict, as another program on the same Redis sees it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cannotTest } from '../../judge/rig.ts'
import { atEnd } from '../../support/cleanup.ts'
import { until } from '../../support/until.ts'
import { freePort } from '../../support/servers.ts'
import { metric, redisFor, STREAM, GROUP } from './feeds.ts'
import { ask, judge, judged, login, openClient, setup, startServer, submit, TWICE } from './setup.ts'

type Redis = Awaited<ReturnType<typeof redisFor>>

// A pause of the machine for some seconds costs no lease.
const WITHOUT_GRACE = { JOB_LEASE_SEC: '10', JOB_HEARTBEAT_SEC: '2', JOB_RECLAIM_GRACE_SEC: '0' }

describe('judge C1: a submission in the stream', { skip: cannotTest }, () => {
  test('judge C1: POST /submit leads to an entry of deepoj:jobs with exactly the four fields', async (t) => {
    const { url: redisUrl, entries } = await redisFor(t)
    const { url, ann } = await setup(t, { role: 'serve', env: { REDIS_URL: redisUrl } })

    const { body } = await submit(url, ann, { code: TWICE.accepted })
    await until('it is announced', async () => (await entries()).length === 1)

    const [entry] = await entries()
    assert.deepEqual(Object.keys(entry?.fields ?? {}), ['job_id', 'enqueue_ts', 'payload_ref', 'priority'])
    assert.equal(entry?.fields['job_id'], body.job_id)
    assert.equal(entry?.fields['payload_ref'], `task:payload:${body.job_id}`)
    assert.match(entry?.fields['enqueue_ts'] ?? '', /^\d{13}$/)
    assert.equal(entry?.fields['priority'], '5')
  })

  test('judge C1: the payload contains everything needed for judging, in an envelope of version 1 with the configured TTL', async (t) => {
    const { url: redisUrl, redis, entries } = await redisFor(t)
    const { url, ann } = await setup(t, { role: 'serve', env: { REDIS_URL: redisUrl, JOB_PAYLOAD_TTL_SEC: '1000' } })

    const { body } = await submit(url, ann, { code: TWICE.accepted })
    await until('it is announced', async () => (await entries()).length === 1)

    const { task_data_b64: data, ...rest } = JSON.parse((await redis.get(`task:payload:${body.job_id}`)) ?? '')
    assert.deepEqual(rest, { schema_version: 1, encoding: 'base64', content_type: 'application/json' })
    const { payload } = JSON.parse(Buffer.from(data, 'base64').toString())
    assert.deepEqual([payload.problem_id, payload.language, payload.code], ['twice', 'c', TWICE.accepted])
    assert.match(payload.package, /^[0-9a-f]{64}$/)
    const ttl = await redis.ttl(`task:payload:${body.job_id}`)
    assert(ttl > 900 && ttl <= 1000, String(ttl))
  })

  test('judge C1: only submissions are there; jobs of other kinds wait elsewhere', async (t) => {
    const { url: redisUrl, redis, entries } = await redisFor(t)
    const { url, ann } = await setup(t, { role: 'serve', env: { REDIS_URL: redisUrl } })

    await ask(`${url}/admin/jobs`, { body: { kind: 'echo', payload: 1 }, headers: await login(url) })
    await submit(url, ann, { code: TWICE.accepted })
    await until(
      'both are announced',
      async () => (await entries()).length + (await redis.zcard('reeve:ready:echo')) >= 2,
    )

    assert.deepEqual([(await entries()).length, await redis.zcard('reeve:ready:echo')], [1, 1])
  })

  test('judge 2.4: the status is PENDING until the entry is in the stream, then DISPATCHED, RUNNING, FINISHED', async (t) => {
    const port = await freePort()
    const first = await redisFor(t, { port })
    const server = await setup(t, { role: 'serve', env: { REDIS_URL: first.url } })
    const { url, ann } = server
    const statusOf = async (id: string) => (await ask(`${url}/status/${id}`, { headers: ann })).body.status
    await first.stop()

    const { body } = await submit(url, ann, { code: TWICE.slow })
    const before = await statusOf(body.job_id)
    await redisFor(t, { port })
    await until('it is dispatched', async () => (await statusOf(body.job_id)) === 'DISPATCHED')
    await startServer(t, { on: server.at, folder: server.folder, role: 'work', env: { REDIS_URL: first.url } })
    await until('it runs', async () => (await statusOf(body.job_id)) === 'RUNNING')
    const result = await judged(url, ann, body.job_id)

    assert.equal(before, 'PENDING')
    assert.deepEqual([result.status, result.verdict], ['FINISHED', 'TLE'])
  })
})

describe('judge C2: reading the stream', { skip: cannotTest }, () => {
  test('judge INV-2: an entry is pending under the worker’s name while it is judged, and acknowledged after the verdict', async (t) => {
    const { url: redisUrl, pending, entries } = await redisFor(t)
    const { url, ann, at } = await setup(t, { env: { REDIS_URL: redisUrl, WORKER_ID: 'judge-1' } })
    const client = await openClient(t, at)

    const { body } = await submit(url, ann, { code: TWICE.slow })
    let held: { consumer: string } | undefined
    await until('it is being judged', async () => {
      const read = await pending()
      held = read[0]
      return read.length === 1
    })
    const holder = () => client.query('select lease_owner from jobs where job_id = $1', [body.job_id])
    await until('it is acquired', async () => (await holder()).rows[0].lease_owner !== null) // it is read before that
    const { rows } = await holder()
    const result = await judged(url, ann, body.job_id)
    await until('it is acknowledged', async () => (await pending()).length === 0)

    assert.equal(held?.consumer, 'judge-1')
    assert.equal(rows[0].lease_owner, 'judge-1')
    assert.equal(result.verdict, 'TLE')
    assert.equal((await entries()).length, 1, 'an entry is acknowledged, not deleted')
  })

  test('judge C2: entries announced before the first worker started are judged (the group begins at 0)', async (t) => {
    const { url: redisUrl, redis, entries } = await redisFor(t)
    const env = { REDIS_URL: redisUrl }
    const server = await setup(t, { role: 'serve', env })
    const { body } = await submit(server.url, server.ann, { code: TWICE.accepted })
    await until('it is announced', async () => (await entries()).length === 1)
    const groups = await redis.xinfo('GROUPS', STREAM)

    await startServer(t, { on: server.at, folder: server.folder, role: 'work', env })

    assert.deepEqual(groups, [])
    assert.equal((await judged(server.url, server.ann, body.job_id)).verdict, 'AC')
    assert.equal((await entries()).length, 1, 'and it was not announced twice')
  })

  test('judge C2: an entry without its fields ends the job as SE, missing_field, and does not block the stream', async (t) => {
    const { url: redisUrl, redis, pending } = await redisFor(t)
    const env = { REDIS_URL: redisUrl }
    const server = await setup(t, { role: 'serve', env })
    const { url, ann } = server
    const poisoned = await submit(url, ann, { code: TWICE.accepted })
    // Its row in the outbox is settled after its entry is there: until then it may be announced again.
    const statusOf = async () => (await ask(`${url}/status/${poisoned.body.job_id}`, { headers: ann })).body.status
    await until('it is dispatched', async () => (await statusOf()) === 'DISPATCHED')
    assert.equal(await redis.xlen(STREAM), 1)
    await redis.del(STREAM)
    await redis.xadd(STREAM, '*', 'job_id', poisoned.body.job_id, 'priority', '5')
    await redis.xadd(STREAM, '*', 'nonsense', 'x')
    await redis.xadd(STREAM, '*', 'job_id', 'not an id', 'enqueue_ts', '1', 'payload_ref', 'x', 'priority', '5')

    const worker = await startServer(t, { on: server.at, folder: server.folder, env })
    const result = await judged(url, ann, poisoned.body.job_id)
    const next = await judge(worker.url, ann, { code: TWICE.accepted })

    assert.deepEqual([result.verdict, result.reason], ['SE', 'missing_field'])
    assert.equal(next.verdict, 'AC')
    await until('nothing is pending', async () => (await pending()).length === 0)
    assert.equal(await metric(worker.url, 'worker_claim_total{status="rejected",reason="missing_field"}'), 3)
  })

  test('judge C2: a malformed entry does not end a job that is being judged', async (t) => {
    const { url: redisUrl, redis, pending } = await redisFor(t)
    const { url, ann } = await setup(t, { env: { REDIS_URL: redisUrl } })
    const { body } = await submit(url, ann, { code: TWICE.slow })
    await until('it is being judged', async () => (await pending()).length === 1)

    await redis.xadd(STREAM, '*', 'job_id', body.job_id)
    const result = await judged(url, ann, body.job_id)

    assert.equal(result.verdict, 'TLE')
  })

  test('judge C2: an expired payload is read from the database', async (t) => {
    const { url: redisUrl, redis, entries } = await redisFor(t)
    const env = { REDIS_URL: redisUrl }
    const server = await setup(t, { role: 'serve', env })
    const { body } = await submit(server.url, server.ann, { code: TWICE.accepted })
    await until('it is announced', async () => (await entries()).length === 1)

    assert.equal(await redis.del(`task:payload:${body.job_id}`), 1)
    await startServer(t, { on: server.at, folder: server.folder, role: 'work', env })

    assert.equal((await judged(server.url, server.ann, body.job_id)).verdict, 'AC')
  })
})

describe('judge C4: what a dead worker left', { skip: cannotTest }, () => {
  test('judge C4: an entry in a dead consumer’s pending list is claimed, judged and acknowledged', async (t) => {
    const { url: redisUrl, redis, pending, entries, letLie } = await redisFor(t)
    const env = { REDIS_URL: redisUrl, ...WITHOUT_GRACE }
    const server = await setup(t, { role: 'serve', env })
    const { body } = await submit(server.url, server.ann, { code: TWICE.accepted })
    await until('it is announced', async () => (await entries()).length === 1)
    await redis.xgroup('CREATE', STREAM, GROUP, '0')
    await redis.call('XREADGROUP', 'GROUP', GROUP, 'dead', 'COUNT', 10, 'STREAMS', STREAM, '>')
    await letLie()

    const worker = await startServer(t, { on: server.at, folder: server.folder, env })
    const result = await judged(server.url, server.ann, body.job_id)

    assert.equal(result.verdict, 'AC')
    await until('nothing is pending', async () => (await pending()).length === 0)
    assert.equal(await metric(worker.url, 'worker_reclaim_total{status="ok",reason=""}'), 1)
    assert(await metric(worker.url, 'worker_reclaim_latency_ms_count'))
  })

  test('judge C4: each scan of a dead consumer’s pending list continues where the last one stopped', async (t) => {
    const { url: redisUrl, redis, entries, letLie } = await redisFor(t)
    const env = { REDIS_URL: redisUrl, ...WITHOUT_GRACE, JOB_RECLAIM_COUNT: '1' }
    const server = await setup(t, { role: 'serve', env })
    const { url, ann } = server
    const submitted = await Promise.all([1, 2, 3].map(() => submit(url, ann, { code: TWICE.accepted })))
    await until('all are announced', async () => (await entries()).length === 3)
    await redis.xgroup('CREATE', STREAM, GROUP, '0')
    await redis.call('XREADGROUP', 'GROUP', GROUP, 'dead', 'COUNT', 10, 'STREAMS', STREAM, '>')
    await letLie()
    const starts: string[] = []
    const monitor = await redis.monitor()
    atEnd(t, () => monitor.disconnect())
    monitor.on('monitor', (_, [command = '', stream = '', , , , start = '']: string[]) => {
      if (command.toUpperCase() === 'XAUTOCLAIM' && stream === STREAM) starts.push(start)
    })

    await startServer(t, { on: server.at, folder: server.folder, role: 'work', env })
    const results = await Promise.all(submitted.map(({ body }) => judged(url, ann, body.job_id)))

    assert.deepEqual(
      results.map(({ verdict }) => verdict),
      ['AC', 'AC', 'AC'],
    )
    const [, second, third] = (await entries()).map(({ id }) => id)
    const continued = () => starts.filter((start) => start !== '0-0').slice(0, 2)
    await until('both scans are seen', () => continued().length === 2)
    assert.deepEqual(continued(), [second, third])
  })
})

describe('judge C6: a stream that was trimmed or lost', { skip: cannotTest }, () => {
  for (const [what, lose] of [
    ['trimmed to nothing', (redis) => redis.xtrim(STREAM, 'MAXLEN', 0)],
    ['flushed with all of Redis', (redis) => redis.flushall()],
  ] as const satisfies [string, (redis: Redis['redis']) => Promise<unknown>][]) {
    test(`judge C6: submissions whose stream was ${what} are announced again and judged`, async (t) => {
      const { url: redisUrl, redis, entries } = await redisFor(t)
      const env = { REDIS_URL: redisUrl }
      const server = await setup(t, { role: 'serve', env })
      const allJudgedOnce = await submitThree(server, entries)

      await lose(redis)
      await startServer(t, { on: server.at, folder: server.folder, role: 'work', env })

      await allJudgedOnce()
    })
  }
})

describe('judge C6: a stream that was trimmed while its group exists', { skip: cannotTest }, () => {
  test('judge C6: entries read by a dead worker and entries that nobody read are both announced again and judged', async (t) => {
    const { url: redisUrl, redis, entries, pending } = await redisFor(t)
    const env = { REDIS_URL: redisUrl, ...WITHOUT_GRACE }
    const server = await setup(t, { role: 'serve', env })
    const allJudgedOnce = await submitThree(server, entries)
    await redis.xgroup('CREATE', STREAM, GROUP, '0')
    await redis.call('XREADGROUP', 'GROUP', GROUP, 'dead', 'COUNT', 1, 'STREAMS', STREAM, '>')

    assert.equal(await redis.xtrim(STREAM, 'MAXLEN', 0), 3)
    await startServer(t, { on: server.at, folder: server.folder, role: 'work', env })

    await allJudgedOnce()
    await until('nothing is pending', async () => (await pending()).length === 0)
  })
})

/** Three submissions that are in the stream. What it resolves to waits for their verdicts, each by its first attempt. */
async function submitThree({ url, ann }: Awaited<ReturnType<typeof setup>>, entries: Redis['entries']) {
  const submitted = await Promise.all([1, 2, 3].map(() => submit(url, ann, { code: TWICE.accepted })))
  await until('all are announced', async () => (await entries()).length === 3)

  return async function allJudgedOnce(): Promise<void> {
    const results = await Promise.all(submitted.map(({ body }) => judged(url, ann, body.job_id)))
    assert.deepEqual(
      results.map(({ verdict, attempt_id: attempt }) => [verdict, attempt]),
      [1, 2, 3].map(() => ['AC', 1]),
    )
  }
}

// judge C2 and C6: the settings of the stream.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cannotTest } from '../../judge/rig.ts'
import { until } from '../../support/until.ts'
import { GROUP, redisFor, STREAM } from './feeds.ts'
import { judged, setup, submit, TWICE } from './setup.ts'

describe('judge C2: the names of the stream', { skip: cannotTest }, () => {
  test('judge C2: stream, group and consumer have the configured names', async (t) => {
    const { url: redisUrl, redis } = await redisFor(t)
    const names = { JOB_STREAM_KEY: 'own:jobs', JOB_STREAM_GROUP: 'own:workers', JOB_STREAM_CONSUMER: 'own-consumer' }
    const { url, ann } = await setup(t, { env: { REDIS_URL: redisUrl, ...names } })
    const { body } = await submit(url, ann, { code: TWICE.slow })

    const pendingOf = async (): Promise<unknown> =>
      redis.call('XPENDING', 'own:jobs', 'own:workers', '-', '+', 10).catch(() => [])
    let consumers: unknown[] = []
    await until('it is being judged', async () => {
      const rows = await pendingOf()
      consumers = Array.isArray(rows) ? rows.map((row: unknown) => (Array.isArray(row) ? row[1] : null)) : []
      return consumers.length === 1
    })
    const result = await judged(url, ann, body.job_id)

    assert.deepEqual(consumers, ['own-consumer'])
    assert.equal(result.verdict, 'TLE')
    assert.equal(await redis.exists(STREAM), 0)
  })
})

describe('judge C6: the length of the stream', () => {
  test('judge C6: the stream is trimmed to about JOB_STREAM_MAXLEN entries', async (t) => {
    const { url: redisUrl, redis } = await redisFor(t)
    const { url, ann } = await setup(t, { role: 'serve', env: { REDIS_URL: redisUrl, JOB_STREAM_MAXLEN: '1000' } })
    const filling = redis.pipeline()
    for (let n = 0; n < 1500; n += 1) filling.xadd(STREAM, '*', 'old', String(n))
    await filling.exec()
    await redis.call('XGROUP', 'DESTROY', STREAM, GROUP).catch(() => {}) // the server may have made it
    await redis.call('XGROUP', 'CREATE', STREAM, GROUP, '$') // all of these entries count as read

    const { body } = await submit(url, ann, { code: TWICE.wrong })
    await until('it is announced', async () => {
      const [newest] = await redis.xrevrange(STREAM, '+', '-', 'COUNT', 1)
      return newest?.[1].includes(body.job_id) === true
    })

    assert((await redis.xlen(STREAM)) < 1200, String(await redis.xlen(STREAM)))
  })
})

// `reeve work` is watched on a port of its own; a scrape survives the loss of the database.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { startReeve } from '../support/reeve.ts'
import { until } from '../support/until.ts'
import { scrape, scrapeWhole, valueOf } from './scrape.ts'

const KIND = 'echo'

const submitDead = `
  insert into jobs (job_id, kind, state, priority, rank, payload, reason, finished_at, attempt_id)
  values (gen_random_uuid(), 'nobody', 'dead', 5, 0, '{}', 'why', clock_timestamp(), 3)`

const submitWaiting = `
  insert into jobs (job_id, kind, priority, rank, payload, submitted_at)
  values (gen_random_uuid(), 'nobody', 5, 0, '{}', clock_timestamp() - interval '90 seconds')`

describe('a process with the role work', () => {
  test('answers health, readiness and metrics, and nothing else', async (t) => {
    const { url } = await startReeve(t, { role: 'work', doors: 'pool' })

    const healthy = await fetch(`${url}/healthz`)
    const ready = await fetch(`${url}/readyz`)
    const text = await scrape(url)

    assert.deepEqual([healthy.status, await healthy.json()], [200, { status: 'ok' }])
    assert.deepEqual(await ready.json(), { status: 'ready', checks: { database: 'ok', feed: 'ok', files: 'ok' } })
    assert.equal((await scrapeWhole(url, '/metrics/prometheus')).includes('reeve_jobs{'), true)
    assert(Number(valueOf(text, 'worker_slots', { kind: KIND })) > 0)
    assert.equal(valueOf(text, 'worker_slots_busy', { kind: KIND }) ?? '0', '0')
    assert.deepEqual(await (await fetch(`${url}/v1/jobs`)).json(), { detail: 'Not Found' })
  })

  test('requires METRICS_TOKEN for metrics where it is set', async (t) => {
    const { url } = await startReeve(t, { role: 'work', doors: 'pool', env: { METRICS_TOKEN: 'sesame' } })

    const [none, given] = await Promise.all([
      fetch(`${url}/metrics`),
      fetch(`${url}/metrics`, { headers: { authorization: 'Bearer sesame' } }),
    ])

    assert.deepEqual([none.status, given.status], [401, 200])
  })

  test('stops although a client is connected and says nothing', { timeout: 60_000 }, async (t) => {
    const { url, stop } = await startReeve(t, { role: 'work', doors: 'pool' })
    const { hostname: host, port } = new URL(url)
    const silent = connect({ host, port: Number(port) }).on('error', () => {})
    t.after(() => silent.destroy())
    await once(silent, 'connect')

    await stop()
  })

  test('takes the next port where METRICS_PORT is taken', async (t) => {
    const taken = await listenSomewhere(t)

    const { url } = await startReeve(t, { role: 'work', doors: 'pool', env: { METRICS_PORT: String(taken) } })

    assert.equal(new URL(url).hostname, '127.0.0.1')
    assert(Number(new URL(url).port) > taken && Number(new URL(url).port) < taken + 16)
  })

  test('exports jobs by kind: waiting, oldest, running, dead, attempts', async (t) => {
    const { url, database } = await startReeve(t, { role: 'work', doors: 'pool' })
    await database.query(submitWaiting)
    await database.query(submitDead)

    const text = await scrapeWhole(url)

    assert.equal(valueOf(text, 'reeve_jobs', { kind: 'nobody', state: 'waiting' }), '1')
    assert.equal(valueOf(text, 'reeve_jobs', { kind: 'nobody', state: 'dead' }), '1')
    assert.equal(valueOf(text, 'reeve_jobs', { kind: KIND, state: 'waiting' }), '0', 'a known kind has a value')
    const oldest = Number(valueOf(text, 'reeve_jobs_oldest_waiting_seconds', { kind: 'nobody' }))
    assert(oldest >= 90 && oldest < 90 + 600, `${oldest} s`)
    assert.equal(valueOf(text, 'reeve_jobs_attempts_max', { kind: 'nobody' }), '0')
  })

  test('still answers a scrape when the database is away, and names what is missing', async (t) => {
    const { url, database } = await startReeve(t, { role: 'work', doors: 'pool' })
    assert.equal(valueOf(await scrapeWhole(url), 'reeve_metrics_unavailable', { part: 'jobs' }), '0')

    await database.query(`alter table jobs rename to jobs_elsewhere`)
    const text = await scrape(url)
    await database.query(`alter table jobs_elsewhere rename to jobs`)

    assert.equal(valueOf(text, 'reeve_metrics_unavailable', { part: 'jobs' }), '1')
    assert.equal(valueOf(text, 'reeve_metrics_unavailable', { part: 'disk' }), '0')
    assert.doesNotMatch(text, /^reeve_jobs\{/m)
    assert.match(text, /^process_cpu_seconds_total /m)
    await until('it is read again', async () => /^reeve_jobs\{/m.test(await scrape(url)))
  })
})

async function listenSomewhere(t: TestContext): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  atEnd(t, () => server.close())
  const address = server.address()
  assert(address !== null && typeof address === 'object')
  return address.port
}

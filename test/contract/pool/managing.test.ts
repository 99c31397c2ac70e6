// What owners and clients do beside polling and submitting: edit workers, list jobs, submit several at once, stay in quotas.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startReceiver } from '../challenge/setup.ts'
import { until } from '../../support/until.ts'
import { connect, expireLeases, setup, SIX_DIGITS, type Answer, type Pool, type Worker } from './setup.ts'

const change = (pool: Pool, { id, by }: Worker, more: object): Promise<Answer> =>
  pool.ask('PATCH', `/workers/${id}`, more, by)
const remove = (pool: Pool, { id }: Worker, by = pool.owner): Promise<Answer> =>
  pool.ask('DELETE', `/workers/${id}`, undefined, by)
const names = async (pool: Pool, query = ''): Promise<string[]> => {
  const { body } = await pool.ask('GET', `/workers${query}`, undefined, pool.owner)
  return body.workers.map(({ name }: { name: string }) => name)
}

describe('workers of an owner', () => {
  test('pool 2.8: lease_seconds is kept, and shown only where it is set', async (t) => {
    const pool = await setup(t)
    const made = await pool.ask('POST', '/workers/register', { name: 'a', lease_seconds: 120 }, pool.owner)

    assert.deepEqual([made.status, made.body.lease_seconds], [201, 120])
    assert.equal((await change(pool, await pool.worker('b'), { lease_seconds: 0 })).status, 422)
    const { body } = await pool.ask('GET', '/workers', undefined, pool.owner)
    assert.deepEqual(
      body.workers.map((one: object) => 'lease_seconds' in one),
      [true, false],
    )
  })

  test('pool 2.9: specs_json has at most 16 KB, public_key 1,024 characters', async (t) => {
    const pool = await setup(t)
    const register = (more: object) => pool.ask('POST', '/workers/register', { name: 'w', ...more }, pool.owner)

    assert.equal((await register({ specs_json: { text: 'x'.repeat(16 * 1024) } })).status, 422)
    assert.equal((await register({ public_key: 'x'.repeat(1025) })).status, 422)
    assert.equal((await register({ specs_json: { text: 'x'.repeat(16_000) } })).status, 201)
  })

  test('pool 2.10: GET /workers has pages by limit and after', async (t) => {
    const pool = await setup(t)
    const workers = [await pool.worker('a'), await pool.worker('b'), await pool.worker('c')]

    assert.deepEqual(await names(pool, '?limit=2'), ['a', 'b'])
    assert.deepEqual(await names(pool, `?limit=2&after=${workers[1]?.id}`), ['c'])
    assert.deepEqual(await names(pool), ['a', 'b', 'c'])
    assert.equal((await pool.ask('GET', '/workers?limit=0', undefined, pool.owner)).status, 422)
  })

  test('pool 2.11: PATCH renames, edits, pauses and resumes; a paused worker gets no new assignment', async (t) => {
    const pool = await setup(t)
    const [worker, other] = [await pool.worker('w', { region: 'eu' }), await pool.worker('other')]
    const stranger = await pool.account('stranger', 'WORKER_OWNER')

    const changed = await change(pool, worker, { name: 'new', region: null, specs_json: { x: 1 }, paused: true })
    assert.equal(changed.status, 200, changed.text)
    const { name, region, specs_json: specs, paused } = changed.body
    assert.deepEqual([name, region, specs, paused], ['new', null, { x: 1 }, true])
    await pool.submitJob()
    assert.equal((await pool.poll(worker)).status, 404)
    const resumed = await change(pool, worker, { paused: false })
    assert.deepEqual([resumed.body.paused, resumed.body.name], [undefined, 'new'])
    assert.equal((await pool.poll(worker)).status, 200)
    assert.deepEqual((await change(pool, other, { name: 'new' })).body, { detail: 'Worker name already exists' })
    assert.equal((await pool.ask('PATCH', `/workers/${worker.id}`, { paused: true }, stranger)).status, 404)
    assert.equal((await change(pool, worker, { specs_json: { text: 'x'.repeat(17_000) } })).status, 422)
  })

  test('pool 2.12: DELETE removes a worker, gives its job to another, and frees its name; results stay', async (t) => {
    const pool = await setup(t)
    const [worker, other] = [await pool.worker('w'), await pool.worker('other')]
    const stranger = await pool.account('stranger', 'WORKER_OWNER')
    const jobId = await pool.submitJob()
    const assigned = (await pool.poll(worker)).body

    assert.equal((await remove(pool, worker, stranger)).status, 404)
    assert.equal((await remove(pool, worker)).status, 204)

    assert.equal((await remove(pool, worker)).status, 404)
    assert.equal((await pool.poll(worker)).status, 404)
    assert.equal((await pool.submit(worker, assigned)).status, 404)
    const again = await pool.poll(other, 10)
    assert.equal(again.status, 200)
    assert.equal((await pool.submit(other, again.body)).status, 200)
    assert.equal((await pool.job(jobId)).status, 'completed')
    await pool.worker('w')
    assert.deepEqual(await names(pool), ['other', 'w'])
  })

  test('pool 12.2: an owner has at most QUOTA_WORKERS workers: 429', async (t) => {
    const pool = await setup(t, { env: { QUOTA_WORKERS: '2' } })
    const first = await pool.worker('a')
    await pool.worker('b')

    const refused = await pool.ask('POST', '/workers/register', { name: 'c' }, pool.owner)
    assert.equal(refused.status, 429)
    assert.match(refused.body.detail, /at most 2 workers/)
    await remove(pool, first)
    await until('the removed one no longer counts', async () => {
      return (await pool.ask('POST', '/workers/register', { name: 'c' }, pool.owner)).status === 201
    })
  })
})

describe('jobs of a client', () => {
  test('pool 6.2: POST /v1/jobs/batch submits all or none, payloads unchanged', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const batch = (body: unknown, headers = {}) =>
      pool.ask('POST', '/v1/jobs/batch', body, { ...pool.client, ...headers })

    const text = '{"jobs":[{"payload":{"n":1.0,"s":"],{"},"priority":9},{"payload":{"n":[2,3]},"replicas":2}]}'
    const made = await batch(text, { 'idempotency-key': 'k' })
    assert.equal(made.status, 202, made.text)
    assert.equal(made.body.jobs.length, 2)
    assert.deepEqual((await batch(text, { 'idempotency-key': 'k' })).body, made.body)
    assert.match((await pool.poll(worker)).text, /"job":{"n":1\.0,"s":"\],{"}/)
    const wrong = await batch({ jobs: [{ payload: {} }, { payload: {}, quorum: 2, replicas: 1 }] })
    assert.deepEqual([wrong.status, wrong.body.detail[0].loc], [422, ['body', 'jobs', '1', 'quorum']])
    assert.equal((await batch({ jobs: [] })).status, 422)
    assert.equal((await batch({ jobs: Array.from({ length: 101 }, () => ({ payload: {} })) })).status, 422)
    const { body } = await pool.ask('GET', '/v1/jobs', undefined, pool.client)
    assert.equal(body.jobs.length, 2)
  })

  test('pool 6.4: Idempotency-Key compares numbers as they were written, not the order of keys', async (t) => {
    const pool = await setup(t)
    const submit = (body: string) => pool.ask('POST', '/v1/jobs', body, { ...pool.client, 'idempotency-key': 'k' })
    const first = await submit('{"payload":{"a":1.0,"b":2}}')

    assert.equal((await submit('{ "payload": {"b":2,"a":1.0} }')).body.job_id, first.body.job_id)
    assert.equal((await submit('{"payload":{"a":1,"b":2}}')).status, 422)
  })

  test('pool 6.6: GET /v1/jobs reads no payload, however large they are', async (t) => {
    const pool = await setup(t)
    const jobIds = [await pool.submitJob({ payload: { text: '中'.repeat(400_000) } }), await pool.submitJob()]
    let longest = 0
    const { toString } = Buffer.prototype
    t.mock.method(Buffer.prototype, 'toString', function (this: Buffer, encoding?: BufferEncoding, ...range: number[]) {
      longest = Math.max(longest, this.length)
      return toString.call(this, encoding, ...range)
    })

    const { body } = await pool.ask('GET', '/v1/jobs', undefined, pool.client)
    const readByList = longest
    await pool.job(jobIds[0] ?? '')

    assert.deepEqual(
      body.jobs.map(({ job_id: jobId }: { job_id: string }) => jobId),
      jobIds.toReversed(),
    )
    assert(readByList < 100_000, `${readByList} bytes`)
    assert(longest > 800_000, 'a job that is read by itself shows what is counted')
  })

  test('pool 6.6: GET /v1/jobs lists the client’s jobs, newest first, by cursor; no replicas', async (t) => {
    const pool = await setup(t)
    const [a, b] = [await pool.submitJob(), await pool.submitJob({ replicas: 3 })]
    const c = await pool.submitJob({ priority: 9 })
    await pool.submitJob({}, await pool.account('another', 'CLIENT'))
    const list = async (query = '') => (await pool.ask('GET', `/v1/jobs${query}`, undefined, pool.client)).body
    const ids = (page: { jobs: { job_id: string }[] }) => page.jobs.map((job) => job.job_id).toSorted()

    const first = await list('?limit=2')
    const second = await list(`?limit=2&before=${first.next_before}`)

    assert.deepEqual([...ids(first), ...ids(second)].toSorted(), [a, b, c].toSorted())
    assert.equal(second.next_before, null)
    assert.equal(first.next_before, first.jobs[1].job_id)
    const [newest] = first.jobs
    assert.match(newest.created_at, SIX_DIGITS)
    assert.equal(newest.status, 'pending')
    assert.equal((await pool.ask('GET', '/v1/jobs?before=x', undefined, pool.client)).status, 422)
  })

  test('pool 6.7: times of a job are the same in its view, its result and its callback', async (t) => {
    const pool = await setup(t)
    const receiver = await startReceiver(t)
    const worker = await pool.worker('w')
    const url = `${receiver.url}/callback/x`
    const [done, cancelled] = [await pool.submitJob({ callback_url: url }), await pool.submitJob({ callback_url: url })]

    const answer = await pool.submit(worker, (await pool.poll(worker)).body)
    await pool.ask('POST', `/v1/jobs/${cancelled}/cancel`, undefined, pool.client)
    await until('both callbacks came', () => receiver.received.length === 2)

    const bodies = receiver.received.map(({ body }) => JSON.parse(body))
    const finishedOf = (id: string) => bodies.find((body) => body.job_id === id).finished_at
    const view = await pool.job(done)
    assert.equal(view.finished_at, answer.body.finished_at)
    assert.equal(view.result.finished_at, answer.body.finished_at)
    assert.equal(finishedOf(done), answer.body.finished_at)
    assert.equal(finishedOf(cancelled), (await pool.job(cancelled)).finished_at)
    assert.match(finishedOf(cancelled), SIX_DIGITS)
    assert.equal((await pool.job(cancelled)).started_at, null)
  })

  test('pool 6.7: a replicated job starts with its first replica', async (t) => {
    const pool = await setup(t)
    const owners = [await pool.account('o1', 'WORKER_OWNER'), await pool.account('o2', 'WORKER_OWNER')]
    const workers = [await pool.worker('w1', {}, owners[0]), await pool.worker('w2', {}, owners[1])]
    const jobId = await pool.submitJob({ replicas: 2, quorum: 2 })
    for (const worker of workers) await pool.submit(worker, (await pool.poll(worker)).body)

    const { started_at: started, finished_at: finished, votes, result } = await pool.job(jobId, 20)

    assert.equal(votes.length, 2)
    assert(started < result.finished_at, 'before the first result')
    assert(finished >= result.finished_at)
  })

  test('pool 6.11: a job whose lease expired is pending at once', async (t) => {
    const pool = await setup(t, { role: 'serve' })
    const database = await connect(t, pool.at)
    const jobId = await pool.submitJob()
    await pool.poll(await pool.worker('w'))
    assert.equal((await pool.job(jobId)).status, 'running')

    await expireLeases(database)

    assert.equal((await pool.job(jobId)).status, 'pending')
  })

  test('pool 5.17: with max_attempts a failed job goes to another worker, until the last failed result', async (t) => {
    const pool = await setup(t)
    const [one, two] = [await pool.worker('one'), await pool.worker('two')]
    const jobId = await pool.submitJob({ max_attempts: 2 })
    const failed = { output: null, output_hash: null, error_message: 'no luck' }

    const first = await pool.submit(one, (await pool.poll(one)).body, failed)
    assert.deepEqual([first.status, first.body.status], [200, 'failed'])
    assert.equal((await pool.job(jobId)).status, 'pending')
    assert.equal((await pool.poll(one)).status, 404, 'not to the same worker')
    const again = (await pool.poll(two, 10)).body
    assert.equal((await pool.submit(two, again, failed)).status, 200)
    const ended = await pool.job(jobId)
    assert.deepEqual([ended.status, ended.error_message, ended.result.worker_id], ['failed', 'no luck', two.id])
    await until('both results have a receipt', async () => {
      const path = `/v1/jobs/${jobId}/receipts`
      return (await pool.ask('GET', path, undefined, pool.client)).body.receipts.length === 2
    })
  })

  test('pool 12.1: a client has at most QUOTA_JOBS_WAITING jobs (429) and QUOTA_STORED_BYTES of payload (413)', async (t) => {
    const pool = await setup(t, { env: { QUOTA_JOBS_WAITING: '2', QUOTA_STORED_BYTES: '1000' } })
    const submit = (job: object) => pool.ask('POST', '/v1/jobs', { payload: {}, ...job }, pool.client)

    assert.equal((await submit({ payload: { text: 'x'.repeat(1000) } })).status, 413)
    await pool.submitJob()
    await pool.submitJob({ replicas: 5 })
    const refused = await submit({})
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1'])
    assert.match(refused.body.detail, /At most 2 jobs/)
  })

  test('pool 12.1: a repeat with its Idempotency-Key is answered as the first time, at a full quota too', async (t) => {
    const pool = await setup(t, { env: { QUOTA_JOBS_WAITING: '3' } })
    const submit = (path: string, key: string, body: object) =>
      pool.ask('POST', path, body, { ...pool.client, 'idempotency-key': key })
    const one = { payload: { n: 1 } }
    const first = await submit('/v1/jobs', 'one', one)
    const batch = await submit('/v1/jobs/batch', 'two', { jobs: [one, one] })

    const repeats = [
      await submit('/v1/jobs', 'one', one),
      await submit('/v1/jobs/batch', 'two', { jobs: [one, one] }),
      await submit('/v1/jobs', 'one', { payload: { n: 2 } }),
      await submit('/v1/jobs', 'three', one),
    ]

    assert.deepEqual(
      repeats.map(({ status }) => status),
      [202, 202, 422, 429],
    )
    assert.deepEqual([repeats[0]?.body, repeats[1]?.body], [first.body, batch.body])
  })

  test('pool 12.1: GET /auth/quotas counts the payloads of jobs that have not ended', async (t) => {
    const pool = await setup(t)
    const used = async () => {
      const { body } = await pool.ask('GET', '/auth/quotas', undefined, pool.client)
      return body.quotas.find(({ name }: { name: string }) => name === 'stored_bytes').used
    }
    const jobId = await pool.submitJob({ payload: { text: 'x'.repeat(1000) } })

    const [waiting] = [await used(), await pool.ask('POST', `/v1/jobs/${jobId}/cancel`, undefined, pool.client)]

    assert.deepEqual([waiting, await used()], [1011, 0])
  })

  test('pool 12.3: the payload of a replicated job is stored once', async (t) => {
    const pool = await setup(t)
    const database = await connect(t, pool.at)
    await pool.submitJob({ payload: { marker: 'm'.repeat(1000) }, replicas: 5 })

    const { rows } = await database.query(`select sum(pg_column_size(payload::text))::integer as bytes from jobs`)

    assert(rows[0].bytes < 2000, `${rows[0].bytes} bytes`)
  })

  test('pool 11.3: without canaries there is no probation', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    await pool.beat(worker)
    const jobId = await pool.submitJob({ replicas: 2, quorum: 2 })

    const why = await pool.ask('GET', `/v1/jobs/${jobId}/why`, undefined, pool.client)
    const standing = await pool.ask('GET', `/workers/${worker.id}/reputation`, undefined, pool.owner)

    assert(!why.text.includes('probation'), why.text)
    assert.equal(standing.body.standing, 'trusted')
  })
})

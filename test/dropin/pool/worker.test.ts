// Speaks as existing workers and clients of this protocol do: plain HTTP, one request after the other.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connect, expireLeases, OUTPUT_HASH, setup, sha256, signed } from '../../contract/pool/setup.ts'

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

describe('an existing worker’s results', () => {
  test('a key __proto__ is data like any other, on the way to the worker and back', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const body = '{"payload":{"__proto__":{"x":1.0},"constructor":2}}'
    const made = await pool.ask('POST', '/v1/jobs', body, pool.client)
    assert.equal(made.status, 202, made.text)

    const polled = await pool.poll(worker)
    const { assignment_id: id, nonce } = polled.body
    const output = '{"__proto__":{"y":2.0}}'
    const signature = signed(worker.privateKey, id, nonce, sha256(output))
    const fields = `"worker_id":${worker.id},"assignment_id":${id},"nonce":"${nonce}","signature":"${signature}"`
    const text = `{${fields},"output_hash":"${sha256(output)}","output":${output}}`
    const submitted = await pool.ask('POST', '/jobs/submit', text, worker.by)

    assert(polled.text.includes('"job":{"__proto__":{"x":1.0},"constructor":2}'), polled.text)
    assert.equal(submitted.status, 200, submitted.text)
    const job = await pool.ask('GET', `/v1/jobs/${made.body.job_id}`, undefined, pool.client)
    assert(job.text.includes(`"output":${output}`), job.text)
    assert.equal(job.body.result.output_hash_matches, true)
  })

  test('a payload or output beyond a limit gets a 422 that names it', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const deep = await pool.ask('POST', '/v1/jobs', `{"payload":${nested(120)}}`, pool.client)
    assert.equal(deep.status, 422, deep.text)
    assert.match(deep.body.detail[0].msg, /nested deeper than 100 levels/)

    const jobId = await pool.submitJob()
    const { assignment_id: id, nonce } = (await pool.poll(worker)).body
    const signature = signed(worker.privateKey, id, nonce, null)
    const fields = `"worker_id":${worker.id},"assignment_id":${id},"nonce":"${nonce}","signature":"${signature}"`
    const refused = await pool.ask('POST', '/jobs/submit', `{${fields},"output":${nested(120)}}`, worker.by)

    assert.equal(refused.status, 422, refused.text)
    assert.match(refused.body.detail[0].msg, /nested deeper than 100 levels/)
    assert.equal((await pool.job(jobId)).status, 'running', 'nothing changed')
  })

  test('pool 5.16: output and error together, or neither output, error nor artifact, is 422 and changes nothing', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const jobId = await pool.submitJob()
    const { assignment_id, nonce } = (await pool.poll(worker)).body
    const signature = signed(worker.privateKey, assignment_id, nonce, null)
    const common = { worker_id: worker.id, assignment_id, nonce, signature }
    const submit = (more: object) => pool.ask('POST', '/jobs/submit', { ...common, ...more }, worker.by)

    assert.equal((await submit({ output: {}, error_message: 'x' })).status, 422)
    assert.equal((await submit({})).status, 422)
    assert.equal((await submit({ output: null, error_message: null })).status, 422)
    assert.equal((await submit({ artifact_uri: 'x'.repeat(2049) })).status, 422)
    const metrics = Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`m${n}`, n]))
    assert.equal((await submit({ artifact_uri: 'x', metrics_json: metrics })).status, 422)
    assert.equal((await pool.job(jobId)).status, 'running')
    assert.equal((await submit({ artifact_uri: 's3://bucket/x' })).status, 200)
    assert.equal((await pool.job(jobId)).result.artifact_uri, 's3://bucket/x')
  })

  test('an error_message over 64 KB is cut and marked', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const jobId = await pool.submitJob()
    const { assignment_id, nonce } = (await pool.poll(worker)).body
    const signature = signed(worker.privateKey, assignment_id, nonce, null)
    const body = { worker_id: worker.id, assignment_id, nonce, signature, error_message: 'é'.repeat(70_000) }

    assert.equal((await pool.ask('POST', '/jobs/submit', body, worker.by)).status, 200)

    const { error_message: message } = await pool.job(jobId)
    assert.equal(message.length, 65_536)
    assert(message.startsWith('ééé') && message.endsWith('é [cut]'))
  })

  test('a job whose lease ran out is pending at once, before any loop has noticed', async (t) => {
    const pool = await setup(t, { role: 'serve' })
    const database = await connect(t, pool.at)
    const worker = await pool.worker('w')
    const [plain, replicated] = [await pool.submitJob(), await pool.submitJob({ replicas: 2, priority: 1 })]
    await pool.poll(worker)
    const other = await pool.worker('w2', {}, await pool.account('second', 'WORKER_OWNER'))
    await pool.poll(other)
    assert.deepEqual([(await pool.job(plain)).status, (await pool.job(replicated)).status], ['running', 'running'])

    await expireLeases(database)

    assert.deepEqual([(await pool.job(plain)).status, (await pool.job(replicated)).status], ['pending', 'pending'])
    assert.equal((await pool.job(plain)).started_at, null)
  })
})

describe('an existing worker’s lease', () => {
  test('lease_seconds is in force up to POOL_LEASE_MAX_SECONDS and the job’s time-out, and the poll says until when', async (t) => {
    const pool = await setup(t, { env: { POOL_LEASE_SECONDS: '5', POOL_LEASE_MAX_SECONDS: '300' } })
    const database = await connect(t, pool.at)
    const expectLease = async (leaseSec: number, more: object, job: object = {}) => {
      const worker = await pool.worker(`w${JSON.stringify([more, job])}`, more)
      await pool.submitJob(job)
      // The clock is read for each of the two.
      await database.query(`update pool_tasks set deadline_at = deadline_at + interval '1 microsecond'`)
      const before = Date.now()
      const { lease_expires_at: until } = (await pool.poll(worker)).body
      const begun = Date.parse(until) - leaseSec * 1000
      assert(before - 1 <= begun && begun <= Date.now() + 1, `${leaseSec} s: ${until}`)
    }

    await expectLease(5, {})
    await expectLease(120, { lease_seconds: 120 })
    await expectLease(300, { lease_seconds: 9000 })
    await expectLease(60, { lease_seconds: 120 }, { timeout_seconds: 60 })
  })

  test('a worker with lease_seconds keeps its assignment for that long without heartbeats', async (t) => {
    const pool = await setup(t, { env: { POOL_LEASE_SECONDS: '1' } })
    const database = await connect(t, pool.at)
    const worker = await pool.worker('w', { lease_seconds: 60 })
    const jobId = await pool.submitJob()
    const assigned = (await pool.poll(worker)).body
    await database.query(`update pool_workers set last_seen_at = last_seen_at - interval '30 seconds'`)

    assert.equal((await pool.poll(await pool.worker('other'), 3)).status, 404, 'the loop has not freed it')
    assert.equal((await pool.submit(worker, assigned)).status, 200)
    assert.equal((await pool.job(jobId)).result.output_hash, OUTPUT_HASH)
  })

  test('GET /health says ok', async (t) => {
    const pool = await setup(t)

    assert.deepEqual((await pool.ask('GET', '/health')).body, { status: 'ok' })
  })
})

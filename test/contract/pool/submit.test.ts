// POST /jobs/submit: statuses, messages, the order of the checks, and what is kept.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { migrationFolders } from '../../../src/doors/outline.ts'
import { freshDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'
import {
  connect,
  OUTPUT_HASH,
  send,
  setup,
  sha256,
  signed,
  SIX_DIGITS,
  submission,
  type Assigned,
  type Pool,
  type Worker,
} from './setup.ts'

async function assignedTo(pool: Pool, worker: Worker, job: object = {}): Promise<Assigned & { jobId: string }> {
  const jobId = await pool.submitJob(job)
  const { status, body } = await pool.poll(worker)
  assert.equal(status, 200)
  return { ...body, jobId }
}

describe('POST /jobs/submit', () => {
  test('pool 5.1: a signed result completes the job, and the client sees it', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const assigned = await assignedTo(pool, worker)

    const { status, body } = await pool.submit(worker, assigned, {
      artifact_uri: 's3://bucket/key',
      metrics_json: { tokens: 12 },
    })

    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body), ['assignment_id', 'status', 'finished_at'])
    assert.deepEqual([body.assignment_id, body.status], [assigned.assignment_id, 'completed'])
    assert.match(body.finished_at, SIX_DIGITS)
    const job = await pool.job(assigned.jobId)
    assert.equal(job.status, 'completed')
    assert.deepEqual(job.result, {
      assignment_id: assigned.assignment_id,
      worker_id: worker.id,
      status: 'completed',
      output: { ok: true },
      output_hash: OUTPUT_HASH,
      output_hash_matches: true,
      error_message: null,
      artifact_uri: 's3://bucket/key',
      metrics_json: { tokens: 12 },
      finished_at: body.finished_at,
    })
  })

  test('pool 5.7: failed exactly when error_message is not null; final; an empty message is a message', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')

    for (const message of ['out of memory', '']) {
      const assigned = await assignedTo(pool, worker)
      const answer = await pool.submit(worker, assigned, { output: null, output_hash: null, error_message: message })
      assert.deepEqual([answer.status, answer.body.status], [200, 'failed'])
      const job = await pool.job(assigned.jobId)
      assert.deepEqual([job.status, job.error_message, job.result.output], ['failed', message, null])
      assert.equal((await pool.poll(worker)).status, 404)
    }
    const assigned = await assignedTo(pool, worker)
    assert.equal((await pool.submit(worker, assigned, { error_message: null })).body.status, 'completed')
  })

  test('pool 5.8: the checks run in their order, each with its message', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const other = await pool.worker('other')
    const stranger = await pool.account('stranger', 'WORKER_OWNER')
    const assigned = await assignedTo(pool, worker)
    const setKey = (key: string) => pool.ask('PUT', `/workers/${worker.id}/key`, { public_key: key }, worker.by)
    const right = submission(worker, assigned)
    const ask = async (more: object, by = worker.by) => {
      const answer = await pool.ask('POST', '/jobs/submit', { ...right, ...more }, by)
      return [answer.status, answer.body.detail]
    }
    const bad = { signature: '!', assignment_id: 999, nonce: 'x' } // wrong in every later way as well

    assert.deepEqual(await ask(bad, {}), [401, 'Invalid token'])
    assert.deepEqual(await ask({ worker_id: 'x' }, pool.client), [403, 'Insufficient role'])
    assert.equal((await pool.ask('POST', '/jobs/submit', {}, worker.by)).status, 422)
    assert.deepEqual(await ask({ ...bad, worker_id: 999 }), [404, 'Worker not found'])
    assert.deepEqual(await ask(bad, stranger), [404, 'Worker not found'])
    const keyless = (await pool.ask('POST', '/workers/register', { name: 'keyless' }, worker.by)).body.id
    assert.deepEqual(await ask({ ...bad, worker_id: keyless }), [400, 'Worker public key is not configured'])
    await setKey('äöü')
    assert.deepEqual(await ask(bad), [400, 'Invalid public key encoding'])
    await setKey('YWFh')
    assert.deepEqual(await ask(bad), [400, 'Invalid public key length'])
    await setKey(worker.publicKey)
    assert.deepEqual(await ask(bad), [400, 'Invalid signature encoding'])
    assert.deepEqual(await ask({ ...bad, signature: 'YWFh' }), [400, 'Invalid signature length'])
    assert.deepEqual(await ask({ ...bad, signature: 'A'.repeat(86) }), [400, 'Signature verification failed'])
    const unknown = submission(worker, { assignment_id: 999, nonce: 'x' })
    assert.deepEqual(await ask(unknown), [404, 'Assignment not found'])
    const theirs = submission(other, assigned)
    assert.deepEqual(await ask(theirs), [404, 'Assignment not found'])
    const wrongNonce = submission(worker, { ...assigned, nonce: 'another' })
    assert.deepEqual(await ask(wrongNonce), [400, 'Invalid nonce'])
    assert.equal((await pool.job(assigned.jobId)).status, 'running')
    assert.equal((await ask({}))[0], 200)
    assert.deepEqual(await ask(wrongNonce), [400, 'Invalid nonce'])
    assert.deepEqual(await ask({}), [409, 'Assignment already submitted'])
    assert.deepEqual(await ask({ output: null, error_message: 'other' }), [409, 'Assignment already submitted'])
  })

  test('pool 5.9: 409 Assignment is not in a submittable state: cancelled, timed out', async (t) => {
    const pool = await setup(t)
    const database = await connect(t, pool.at)
    const worker = await pool.worker('w')

    const cancelled = await assignedTo(pool, worker)
    await pool.ask('POST', `/v1/jobs/${cancelled.jobId}/cancel`, undefined, pool.client)
    const overdue = await assignedTo(pool, worker, { timeout_seconds: 3600 })
    await database.query(`update pool_tasks set deadline_at = clock_timestamp()`)
    await until('it timed out', async () => (await pool.job(overdue.jobId)).status === 'timed_out')

    for (const assigned of [cancelled, overdue]) {
      const answer = await pool.submit(worker, assigned)
      assert.deepEqual([answer.status, answer.body.detail], [409, 'Assignment is not in a submittable state'])
    }
  })

  test('pool 5.10: 409 Concurrent submission conflict when the database cannot lock the row in time', async (t) => {
    const at = await freshDatabase(migrationFolders())
    const database = await connect(t, at)
    await database.query(`alter database ${at.database} set lock_timeout = '100ms'`)
    const pool = await setup(t, { on: at })
    const worker = await pool.worker('w')
    const assigned = await assignedTo(pool, worker)

    await database.query('begin')
    await database.query('select from jobs for update')
    const refused = await pool.submit(worker, assigned)
    await database.query('rollback')

    assert.deepEqual([refused.status, refused.body.detail], [409, 'Concurrent submission conflict'])
    assert.equal((await pool.submit(worker, assigned)).status, 200)
  })

  test('pool 5.11: fields have their types and limits, or 422', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const assigned = await assignedTo(pool, worker)
    const right = submission(worker, assigned)
    const wrong: object[] = [
      { worker_id: '1' },
      { assignment_id: null },
      { assignment_id: 2 ** 60 },
      { nonce: '' },
      { nonce: 'x'.repeat(129) },
      { signature: null },
      { output: [1] },
      { output: 'x' },
      { error_message: 5 },
      { artifact_uri: {} },
      { output_hash: 'x'.repeat(129) },
      { metrics_json: [] },
    ]

    for (const more of wrong) {
      const answer = await pool.ask('POST', '/jobs/submit', { ...right, ...more }, worker.by)
      assert.equal(answer.status, 422, JSON.stringify(more))
      assert(Array.isArray(answer.body.detail))
    }
    const broken = await pool.ask('POST', '/jobs/submit', '{"worker_id":', worker.by)
    assert.deepEqual([broken.status, typeof broken.body.detail], [400, 'string'])
    assert.equal((await pool.job(assigned.jobId)).status, 'running')
  })
})

describe('output and output_hash', () => {
  test('pool 5.12: the hash is recomputed over the bytes that were sent, and the match is kept', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const output = '{"b": 1.0, "a": [12345678901234567890, 1E5, "\\u00e9"]}'
    const canonical = '{"a":[12345678901234567890,100000.0,"é"],"b":1.0}'

    const submitRaw = async (hash: string | null) => {
      const assigned = await assignedTo(pool, worker)
      const { assignment_id: id, nonce, jobId } = assigned
      const signature = signed(worker.privateKey, id, nonce, hash)
      const fields = JSON.stringify({ worker_id: worker.id, assignment_id: id, nonce, signature, output_hash: hash })
      const answer = await send(
        pool.url,
        'POST',
        '/jobs/submit',
        `${fields.slice(0, -1)},"output":${output}}`,
        worker.by,
      )
      assert.equal(answer.status, 200, answer.text)
      return (await pool.ask('GET', `/v1/jobs/${jobId}`, undefined, pool.client)).text
    }

    assert((await submitRaw(sha256(canonical))).includes('"output_hash_matches":true'))
    const other = await submitRaw('hash-1')
    assert(other.includes('"output_hash":"hash-1","output_hash_matches":false'), other)
    const none = await submitRaw(null)
    assert(none.includes('"output_hash":null,"output_hash_matches":null'), none)
    assert(none.includes(`"output":${output}`), 'the output comes back as it was sent')
  })

  test('pool 5.13: a mismatch is refused when the job asks for it, and the assignment stays open', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const assigned = await assignedTo(pool, worker, { require_output_hash: true })

    for (const hash of ['hash-1', null]) {
      const refused = await pool.submit(worker, assigned, { output_hash: hash })
      assert.deepEqual([refused.status, refused.body.detail], [400, 'Output hash does not match output'])
    }
    assert.equal((await pool.submit(worker, assigned)).status, 200)
    assert.equal((await pool.submit(worker, assigned, { output_hash: 'hash-1' })).status, 409)
  })

  test('pool 5.14: an output without a canonical form is refused with 422 and changes nothing', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const { jobId, ...assigned } = await assignedTo(pool, worker)
    const fields = JSON.stringify({ ...submission(worker, assigned), output: undefined }).slice(0, -1)

    const answer = await send(pool.url, 'POST', '/jobs/submit', `${fields},"output":{"x":1e999}}`, worker.by)

    assert.equal(answer.status, 422)
    assert.deepEqual(answer.body.detail[0].loc, ['body', 'output'])
    assert.equal((await pool.job(jobId)).status, 'running')
  })

  test('pool 5.15: an output of megabytes is hashed like any other, and others are served meanwhile', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const assigned = await assignedTo(pool, worker)
    const items = Array.from({ length: 60_000 }, (_, n) => `{"b":${n}.5,"a":"x${n}"}`)
    const sorted = items.map((_, n) => `{"a":"x${n}","b":${n}.5}`)
    const hash = sha256(`{"items":[${sorted.join(',')}]}`)
    const fields = JSON.stringify({ ...submission(worker, assigned, { output_hash: hash }), output: undefined })
    const body = `${fields.slice(0, -1)},"output":{"items":[${items.join(',')}]}}`

    const [answer, beat] = await Promise.all([
      send(pool.url, 'POST', '/jobs/submit', body, worker.by),
      pool.ask('GET', '/healthz'),
    ])

    assert.equal(answer.status, 200, answer.text.slice(0, 200))
    assert.equal(beat.status, 200)
    assert.equal((await pool.job(assigned.jobId)).result.output_hash_matches, true)
  })
})

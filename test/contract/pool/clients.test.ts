// The client API: jobs in, results out, and who gets what in which order.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../../support/until.ts'
import { connect, send, setup, SIX_DIGITS, type Pool, type Worker } from './setup.ts'

const UNKNOWN = '0190a000-0000-7000-8000-000000000000'

/** The payloads that this worker gets, one after the other, each handed in at once. */
async function drain(pool: Pool, worker: Worker, most = 50): Promise<unknown[]> {
  const got: unknown[] = []
  while (got.length < most) {
    const { status, body } = await pool.poll(worker)
    if (status !== 200) break
    got.push(body.job.n)
    assert.equal((await pool.submit(worker, body)).status, 200)
  }
  return got
}

describe('POST /v1/jobs', () => {
  test('pool 6.1: 202 with job_id and status; Prefer: wait=N answers 200 with the result, or 202 at the time-out', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const payload = { prompt: 'hello' }

    const waiting = pool.ask('POST', '/v1/jobs', { payload }, { ...pool.client, prefer: 'wait=30' })
    await pool.submit(worker, (await pool.poll(worker, 20)).body)
    const done = await waiting
    const accepted = await pool.ask('POST', '/v1/jobs', { payload }, pool.client)
    const early = await pool.ask('POST', '/v1/jobs', { payload }, { ...pool.client, prefer: 'wait=1' })

    assert.deepEqual([done.status, done.body.status, done.body.result.output], [200, 'completed', { ok: true }])
    assert.deepEqual(
      [accepted.status, Object.keys(accepted.body), accepted.body.status],
      [202, ['job_id', 'status'], 'pending'],
    )
    assert.deepEqual([early.status, early.body.status], [202, 'pending'])
    assert.equal(early.headers.get('preference-applied'), 'wait=1')
  })

  test('pool 1.3: a client needs the role CLIENT, which is checked before the body; an API key is accepted', async (t) => {
    const pool = await setup(t)
    const { api_key: key } = (await pool.ask('POST', '/auth/api-keys', { name: 'k' }, pool.client)).body

    assert.deepEqual((await pool.ask('POST', '/v1/jobs', {})).body, { detail: 'Invalid token' })
    for (const by of [pool.owner, pool.admin]) {
      const answer = await pool.ask('POST', '/v1/jobs', { payload: 5 }, by)
      assert.deepEqual([answer.status, answer.body], [403, { detail: 'Insufficient role' }])
    }
    assert.equal((await pool.ask('POST', '/v1/jobs', { payload: {} }, { 'x-api-key': key })).status, 202)
  })

  test('pool 6.3: an invalid body is refused with 422 and a list, and nothing is submitted', async (t) => {
    const pool = await setup(t)
    const database = await connect(t, pool.at)
    const wrong: [more: object, field: string][] = [
      [{ payload: undefined }, 'payload'],
      [{ payload: [] }, 'payload'],
      [{ payload: 'x' }, 'payload'],
      [{ priority: -1 }, 'priority'],
      [{ priority: 1.5 }, 'priority'],
      [{ requirements: { region: 5 } }, 'requirements'],
      [{ requirements: { zone: 'x' } }, 'requirements'],
      [{ requirements: { specs: { a: 'x'.repeat(5000) } } }, 'requirements'],
      [{ replicas: 0 }, 'replicas'],
      [{ replicas: 100 }, 'replicas'],
      [{ replicas: 2, quorum: 3 }, 'quorum'],
      [{ timeout_seconds: 0 }, 'timeout_seconds'],
      [{ callback_url: 'ftp://example.org/' }, 'callback_url'],
      [{ callback_url: 'http://example.org/' }, 'callback_url'],
      [{ callback_url: 'https://user:secret@example.org/' }, 'callback_url'],
      [{ unknown: 1 }, 'unknown'],
    ]

    for (const [more, field] of wrong) {
      const answer = await pool.ask('POST', '/v1/jobs', { payload: {}, ...more }, pool.client)
      assert.equal(answer.status, 422, JSON.stringify(more))
      assert.deepEqual(answer.body.detail[0].loc.slice(0, 2), ['body', field], answer.text)
    }
    assert.equal((await database.query('select from jobs')).rowCount, 0)
  })

  test('pool 6.4: Idempotency-Key: the same body names the same job, another body is 422, for plain and replicated jobs', async (t) => {
    const pool = await setup(t)
    const database = await connect(t, pool.at)
    const other = await pool.account('other client', 'CLIENT')
    const ask = (key: string, body: object, by = pool.client) =>
      pool.ask('POST', '/v1/jobs', body, { ...by, 'idempotency-key': key })

    for (const replicas of [1, 2]) {
      const key = `key-${replicas}`
      const first = await ask(key, { payload: { n: 1 }, replicas })
      const again = await ask(key, { replicas, payload: { n: 1 } })
      const conflict = await ask(key, { payload: { n: 2 }, replicas })
      const theirs = await ask(key, { payload: { n: 1 }, replicas }, other)

      assert.equal(first.status, 202)
      assert.equal(again.body.job_id, first.body.job_id)
      assert.equal(conflict.status, 422)
      assert.notEqual(theirs.body.job_id, first.body.job_id)
    }
    const { rows } = await database.query(`select kind, count(*)::integer as n from jobs group by kind order by kind`)
    assert.deepEqual(rows, [
      { kind: 'pool', n: 2 + 4 },
      { kind: 'pool_quorum', n: 2 },
    ])
  })
})

describe('GET /v1/jobs/{id}', () => {
  test('pool 6.5: a client sees its own job in all its states, and nobody else’s', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const other = await pool.account('other client', 'CLIENT')
    const jobId = await pool.submitJob({ priority: 7, requirements: { specs: { gpu: 1 } } })

    const pending = await pool.job(jobId)
    assert.deepEqual([pending.status, pending.priority, pending.result], ['pending', 7, null])
    assert.deepEqual(pending.requirements, { region: null, specs: { gpu: 1 } })
    assert.match(pending.created_at, SIX_DIGITS)
    assert.equal((await pool.poll(worker)).status, 404)
    const able = await pool.worker('able', { specs_json: { gpu: 2 } })
    const assigned = (await pool.poll(able)).body
    assert.equal((await pool.job(jobId)).status, 'running')
    const waiting = pool.job(jobId, 20)
    await pool.submit(able, assigned)
    const done = await waiting
    assert.equal(done.status, 'completed')
    assert.match(done.finished_at, SIX_DIGITS)

    for (const [id, by] of [
      [jobId, other],
      [UNKNOWN, pool.client],
      ['nonsense', pool.client],
      [jobId.toUpperCase(), other],
    ] as const) {
      for (const path of ['', '/why', '/receipts']) {
        const answer = await pool.ask('GET', `/v1/jobs/${id}${path}`, undefined, by)
        assert.deepEqual([answer.status, answer.body], [404, { detail: 'Job not found' }])
      }
      assert.equal((await pool.ask('POST', `/v1/jobs/${id}/cancel`, undefined, by)).status, 404)
    }
    assert.equal((await pool.ask('GET', `/v1/jobs/${jobId}`, undefined, pool.owner)).status, 403)
  })

  test('pool 6.8: a cancelled job has ended: 409 the second time, and no worker gets it', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    const jobId = await pool.submitJob()

    const cancelled = await pool.ask('POST', `/v1/jobs/${jobId}/cancel`, undefined, pool.client)
    const again = await pool.ask('POST', `/v1/jobs/${jobId}/cancel`, undefined, pool.client)

    assert.deepEqual([cancelled.status, cancelled.body], [200, { job_id: jobId, status: 'cancelled' }])
    assert.deepEqual([again.status, again.body], [409, { detail: 'Job has already ended' }])
    assert.equal((await pool.poll(worker)).status, 404)
    const job = await pool.job(jobId)
    assert.deepEqual([job.status, job.error_message], ['cancelled', 'cancelled by the client'])
  })

  test('pool 6.9: a job that is not done within timeout_seconds has timed out', async (t) => {
    const pool = await setup(t)
    const database = await connect(t, pool.at)
    const jobId = await pool.submitJob({ timeout_seconds: 1 })
    const replicated = await pool.submitJob({ timeout_seconds: 1, replicas: 2 })

    assert.equal((await pool.job(jobId, 20)).status, 'timed_out')
    assert.equal((await pool.job(replicated, 20)).status, 'timed_out')
    // They are cancelled after the job has ended.
    await until('its replicas have ended', async () => (await database.query('select from pool_tasks')).rowCount === 0)
    assert.equal((await pool.poll(await pool.worker('w'))).status, 404)
  })
})

describe('who gets what', () => {
  test('pool 7.1: the higher priority first, then the older job', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    for (const [n, priority] of [5, 1, 9, 5, 9].entries()) await pool.submitJob({ payload: { n }, priority })

    assert.deepEqual(await drain(pool, worker), [2, 4, 0, 3, 1])
  })

  test('pool 7.2: only a worker of the region, with at least the required specs, gets the job', async (t) => {
    const pool = await setup(t)
    const bare = await pool.worker('bare')
    const near = await pool.worker('near', { region: 'sa-east-1', specs_json: { ram_gb: 16, tags: ['a', 'b'] } })
    const far = await pool.worker('far', {
      region: 'eu-west-1',
      specs_json: { ram_gb: 64, gpu: { model: 'H100', count: 2 } },
    })
    const jobs = [
      [{ region: 'sa-east-1' }, near],
      [{ specs: { ram_gb: 32 } }, far],
      [{ region: 'sa-east-1', specs: { ram_gb: 16 } }, near],
      [{ specs: { tags: 'b' } }, near],
      [{ specs: { tags: ['b', 'a'] } }, near],
      [{ specs: { gpu: { model: 'H100', count: 1 } } }, far],
    ] as const

    for (const [requirements, wanted] of jobs) {
      await pool.submitJob({ requirements })
      for (const worker of [bare, near, far]) {
        const { status, body } = await pool.poll(worker)
        assert.equal(status, worker === wanted ? 200 : 404, JSON.stringify([requirements, worker.id]))
        if (status === 200) await pool.submit(worker, body)
      }
    }
    await pool.submitJob({ requirements: { region: 'nowhere' } })
    await pool.submitJob({ requirements: { specs: { ram_gb: '16' } } })
    for (const worker of [bare, near, far]) assert.equal((await pool.poll(worker)).status, 404)
  })

  test('pool 7.3: clients are served in turns: a thousand jobs of the highest priority do not starve another client', async (t) => {
    const pool = await setup(t)
    const greedy = await pool.account('greedy', 'CLIENT')
    const worker = await pool.worker('w')
    await Promise.all(
      Array.from({ length: 30 }, () => pool.submitJob({ payload: { n: 'greedy' }, priority: 1_000_000 }, greedy)),
    )
    for (let n = 0; n < 5; n += 1) await pool.submitJob({ payload: { n: 'modest' }, priority: 0 })

    const order = await drain(pool, worker, 12)

    assert.equal(order.slice(0, 10).filter((who) => who === 'modest').length, 5, order.join())
  })

  test('pool 7.4: a worker that is not eligible for the first job gets the next one', async (t) => {
    const pool = await setup(t)
    const worker = await pool.worker('w')
    for (let n = 0; n < 5; n += 1) await pool.submitJob({ requirements: { region: `r${n}` }, priority: 9 })
    await pool.submitJob({ payload: { n: 'mine' }, priority: 1 })

    assert.deepEqual(await drain(pool, worker), ['mine'])
  })
})

describe('GET /v1/jobs/{id}/why', () => {
  test('pool 6.10: why names the rule that keeps the job waiting, with counts', async (t) => {
    const pool = await setup(t)
    const database = await connect(t, pool.at)
    const why = async (jobId: string) => (await pool.ask('GET', `/v1/jobs/${jobId}/why`, undefined, pool.client)).body
    const plain = await pool.submitJob()
    const near = await pool.submitJob({ requirements: { region: 'sa-east-1' } })
    const strong = await pool.submitJob({ requirements: { specs: { ram_gb: 64 } } })
    const shared = await pool.submitJob({ replicas: 2, quorum: 2 })

    assert.deepEqual((await why(plain)).reasons, ['No worker is registered.'])
    const workers = [
      await pool.worker('w1'),
      await pool.worker('w2'),
      await pool.worker('w3', { specs_json: { ram_gb: 8 } }),
    ]
    assert.deepEqual((await why(plain)).reasons, ['3 workers registered, 0 online.'])
    for (const worker of workers) await pool.beat(worker)
    assert.deepEqual(await why(near), {
      job_id: near,
      status: 'pending',
      reasons: ['3 workers online, 0 in region sa-east-1.'],
      workers: { registered: 3, banned: 0, online: 3, in_region: 0, with_specs: 0, idle: 0 },
    })
    assert.deepEqual((await why(strong)).reasons, ['3 workers online, 0 with the specs {"ram_gb":64}.'])
    const [first] = workers
    assert(first !== undefined)
    const assigned = (await pool.poll(first)).body
    assert.equal((await pool.job(plain)).status, 'running')
    assert.deepEqual((await why(plain)).reasons, ['A worker is working on it.'])
    for (const worker of workers.slice(1)) await pool.poll(worker)
    await until('one owner has one replica', async () => (await why(shared)).status === 'running')
    assert.deepEqual((await why(shared)).reasons, [
      '1 of its replicas waits, 1 is being worked on.',
      '3 eligible online, 0 of an owner that has no replica of this job yet.',
    ])
    await pool.submit(first, assigned)
    assert.deepEqual((await why(plain)).reasons, ['The job does not wait: it is completed.'])
    await database.query(
      `update pool_workers set banned_at = clock_timestamp(), ban_reason = 'x', assignment_id = null`,
    )
    assert.deepEqual((await why(near)).reasons, ['3 workers registered, 3 banned, 0 online.'])
  })
})

describe('bad input at every path', () => {
  test('pool 1.4: invalid input at every path gets a 4xx with the door’s error body', async (t) => {
    const pool = await setup(t)
    const paths = ['/workers/register', '/workers/heartbeat', '/jobs/poll', '/jobs/submit', '/v1/jobs']
    const bodies = [
      '',
      '{',
      'null',
      '[]',
      '5',
      '"x"',
      '{"worker_id":1e999}',
      '{"worker_id":{}}',
      '{"name":"\\u0000"}',
      '['.repeat(1000),
    ]

    for (const path of paths) {
      for (const body of bodies) {
        const by = path === '/v1/jobs' ? pool.client : pool.owner
        const answer = await send(pool.url, 'POST', path, body, { ...by, 'content-type': 'application/json' })
        assert(answer.status >= 400 && answer.status < 500, `${path} ${body.slice(0, 30)}: ${answer.status}`)
        assert('detail' in answer.body)
      }
    }
    const large = `{"payload":{"x":"${'x'.repeat(6_000_000)}"}}`
    assert.equal((await send(pool.url, 'POST', '/v1/jobs', large, pool.client)).status, 413)
    assert.deepEqual((await pool.ask('GET', '/v1/nothing', undefined, pool.client)).body, { detail: 'Not Found' })
    assert.equal((await pool.ask('PUT', '/workers/abc/key', { public_key: 'x' }, pool.owner)).status, 422)
  })
})

// "Worker Runtime API" of the contract: heartbeat and poll.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../../support/until.ts'
import { connect, expireLeases, send, setup, SIX_DIGITS, startServer } from './setup.ts'

const NOT_FOUND = { detail: 'Worker not found' }
const NOTHING = { detail: 'No assignment available' }

describe('POST /workers/heartbeat', () => {
  test('pool 3.1: a heartbeat marks the worker online and answers last_seen_at with six digits and a Z, and nothing else', async (t) => {
    const { ask, owner, worker, beat } = await setup(t)
    const mine = await worker('w')

    const { status, body } = await beat(mine)

    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body), ['worker_id', 'last_seen_at'])
    assert.equal(body.worker_id, mine.id)
    assert.match(body.last_seen_at, SIX_DIGITS)
    const [seen] = (await ask('GET', '/workers', undefined, owner)).body.workers
    assert.deepEqual([seen.status, seen.last_seen_at], ['online', body.last_seen_at])
  })

  test('pool 3.2: a worker that was silent for its lease is offline', async (t) => {
    const { ask, owner, worker, beat, at } = await setup(t)
    const database = await connect(t, at)
    await beat(await worker('w'))

    await database.query(`update pool_workers set last_seen_at = clock_timestamp() - interval '31 seconds'`)

    assert.equal((await ask('GET', '/workers', undefined, owner)).body.workers[0].status, 'offline')
  })

  test('pool 3.3: 401, 403 before the body, 404 for an unknown or another owner’s worker, 422', async (t) => {
    const { ask, owner, client, admin, worker, account } = await setup(t)
    const mine = await worker('w')
    const other = await account('other', 'WORKER_OWNER')
    const path = '/workers/heartbeat'

    assert.deepEqual((await ask('POST', path, { worker_id: mine.id })).body, { detail: 'Invalid token' })
    assert.deepEqual((await ask('POST', path, 'nonsense', client)).body, { detail: 'Insufficient role' })
    assert.equal((await ask('POST', path, { worker_id: mine.id }, admin)).status, 403)
    for (const [id, by] of [
      [mine.id, other],
      [999, owner],
      [0, owner],
      [-1, owner],
    ] as const) {
      const answer = await ask('POST', path, { worker_id: id }, by)
      assert.deepEqual([answer.status, answer.body], [404, NOT_FOUND])
    }
    for (const body of [{}, { worker_id: '1' }, { worker_id: 1.5 }, { worker_id: 1e300 }, []]) {
      assert.equal((await ask('POST', path, body, owner)).status, 422)
    }
  })

  test('pool 3.4: a heartbeat renews the lease of the assignment', async (t) => {
    const { worker, submitJob, poll, beat, submit, at } = await setup(t)
    const database = await connect(t, at)
    const mine = await worker('w')
    await submitJob()
    const assigned = (await poll(mine)).body
    const lease = async () => (await database.query(`select lease_until from jobs`)).rows[0].lease_until
    await database.query(`update jobs set lease_until = clock_timestamp() + interval '20 seconds'`)
    const before = await lease()

    await beat(mine)

    assert((await lease()) > before)
    assert.equal((await submit(mine, assigned)).status, 200)
  })

  test('pool 3.5: a heartbeat names the cancelled assignment until the worker polls again', async (t) => {
    const { ask, client, worker, submitJob, poll, beat, submit } = await setup(t)
    const mine = await worker('w')
    const jobId = await submitJob()
    const assigned = (await poll(mine)).body

    await ask('POST', `/v1/jobs/${jobId}/cancel`, undefined, client)

    assert.deepEqual((await beat(mine)).body.cancelled, [assigned.assignment_id])
    assert.deepEqual((await beat(mine)).body.cancelled, [assigned.assignment_id])
    const late = await submit(mine, assigned)
    assert.deepEqual([late.status, late.body.detail], [409, 'Assignment is not in a submittable state'])
    assert.equal((await poll(mine)).status, 404)
    assert.equal((await beat(mine)).body.cancelled, undefined)
  })

  test('pool 3.6: heartbeats keep an assignment for at most POOL_HOLD_SECONDS_MAX', async (t) => {
    const { worker, submitJob, poll, beat, submit, at } = await setup(t, { env: { POOL_HOLD_SECONDS_MAX: '60' } })
    const database = await connect(t, at)
    const [slow, other] = [await worker('slow'), await worker('other')]
    await submitJob()
    const assigned = (await poll(slow)).body
    await database.query(`update pool_assignments set assigned_at = assigned_at - interval '61 seconds'`)
    await database.query(`update pool_tasks set held_at = held_at - interval '5 minutes'`)
    await database.query(`update jobs set lease_until = clock_timestamp() where state = 'processing'`)

    assert.deepEqual((await beat(slow)).body.cancelled, [assigned.assignment_id])
    await until('another worker gets it', async () => (await poll(other)).status === 200)
    assert.equal((await submit(slow, assigned)).status, 409)
  })
})

describe('POST /jobs/poll', () => {
  test('pool 4.1: the payload comes back as `job`, with assignment_id, nonce, the priority as cost hint, and the lease', async (t) => {
    const { worker, poll, client, url } = await setup(t)
    const mine = await worker('w')
    const payload = '{"prompt":"hello","id":12345678901234567890,"x":1.0,"\u{e9}":[-0.0,1E5]}'
    await send(url, 'POST', '/v1/jobs', `{"payload": ${payload},"priority":99}`, client)

    const { status, body, text } = await poll(mine)

    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body), ['assignment_id', 'job', 'nonce', 'cost_hint_tokens', 'lease_expires_at'])
    assert(Number.isSafeInteger(body.assignment_id))
    assert.match(body.nonce, /^.{1,128}$/)
    assert.equal(body.cost_hint_tokens, 99)
    assert.match(body.lease_expires_at, SIX_DIGITS)
    assert(text.includes(`"job":${payload}`), text)
  })

  test('pool 4.2: polling again returns the same assignment, also from another server, until it is submitted', async (t) => {
    const pool = await setup(t)
    const { url: second } = await startServer(t, { on: pool.at, role: 'serve' })
    const mine = await pool.worker('w')
    await pool.submitJob()
    await pool.submitJob()

    const first = (await pool.poll(mine)).body
    const again = (await pool.poll(mine)).body
    const there = (await send(second, 'POST', '/jobs/poll', { worker_id: mine.id }, mine.by)).body

    for (const same of [again, there]) {
      assert.deepEqual([same.assignment_id, same.nonce, same.job], [first.assignment_id, first.nonce, first.job])
    }
    await pool.submit(mine, first)
    const next = (await pool.poll(mine)).body
    assert.notEqual(next.assignment_id, first.assignment_id)
    assert.notEqual(next.nonce, first.nonce)
  })

  test('pool 4.3: 404 No assignment available, Worker not found, 401, 403, 422', async (t) => {
    const { ask, owner, client, worker, account, poll } = await setup(t)
    const mine = await worker('w')
    const other = await account('other', 'WORKER_OWNER')

    const nothing = await poll(mine)
    assert.deepEqual([nothing.status, nothing.body], [404, NOTHING])
    assert.deepEqual((await poll({ ...mine, by: other })).body, NOT_FOUND)
    assert.deepEqual((await poll({ ...mine, id: 999 })).body, NOT_FOUND)
    assert.deepEqual((await poll({ ...mine, by: {} })).body, { detail: 'Invalid token' })
    assert.deepEqual((await poll({ ...mine, by: client })).body, { detail: 'Insufficient role' })
    assert.equal((await ask('POST', '/jobs/poll', 'nonsense', client)).status, 403, 'the role comes before the body')
    assert.equal((await ask('POST', '/jobs/poll', 'nonsense')).status, 401)
    assert.equal((await ask('POST', '/jobs/poll', {}, owner)).status, 422)
    assert.deepEqual((await ask('GET', '/jobs/poll', undefined, owner)).status, 405)
    assert.deepEqual((await ask('POST', '/jobs/nothing', {}, owner)).body, { detail: 'Not Found' })
  })

  test('pool 4.4: Prefer: wait=N waits for a job, and is answered as soon as one comes', async (t) => {
    const { worker, poll, submitJob } = await setup(t)
    const mine = await worker('w')

    const started = performance.now()
    const empty = await poll(mine, 1)
    const waitedMs = performance.now() - started
    const waiting = poll(mine, 100)
    await submitJob({ payload: { n: 1 } })
    const got = await waiting

    assert.deepEqual([empty.status, empty.body], [404, NOTHING])
    assert.equal(empty.headers.get('preference-applied'), 'wait=1')
    assert(waitedMs >= 990, `${waitedMs}`)
    assert.deepEqual([got.status, got.body.job], [200, { n: 1 }])
    assert.equal(got.headers.get('preference-applied'), 'wait=50', 'at most')
  })

  test('pool 4.5: a new job wakes one of many waiting workers; the others wait on', async (t) => {
    const { worker, poll, submitJob, ask, admin } = await setup(t)
    const waiting = async () => (await ask('GET', '/admin/pool/status', undefined, admin)).body.polls_waiting
    const workers = await Promise.all(Array.from({ length: 20 }, (_, n) => worker(`w${n}`)))
    const answered: number[] = []
    const polls = workers.map(async (one) => {
      const answer = await poll(one, 50)
      answered.push(answer.status)
      return answer
    })
    await until('all of them wait', async () => (await waiting()) === 20)

    await submitJob()
    await until('one is answered', () => answered.length > 0)
    const others = await waiting()
    for (const one of workers) await poll(one) // gives up the poll that waits
    await Promise.all(polls)

    assert.equal(others, 19)
    assert.equal(answered[0], 200)
    assert.equal(answered.filter((status) => status === 200).length, 1)
  })

  test('pool 4.6: a worker that polls again has given up its earlier poll', async (t) => {
    const { worker, poll, submitJob, ask, admin } = await setup(t)
    const mine = await worker('w')

    const first = poll(mine, 50)
    await until('the first poll waits', async () => {
      return (await ask('GET', '/admin/pool/status', undefined, admin)).body.polls_waiting === 1
    })
    assert.equal((await poll(mine)).status, 404)
    await submitJob()

    assert.equal((await first).status, 404)
    assert.equal((await poll(mine)).status, 200)
  })

  test('pool 4.7: a job whose worker disconnects during its poll goes to the next one at once', async (t) => {
    const { worker, poll, submitJob, url, ask, admin } = await setup(t)
    const waitingPolls = async () => (await ask('GET', '/admin/pool/status', undefined, admin)).body.polls_waiting
    const [gone, here] = [await worker('gone'), await worker('here')]
    const leaving = new AbortController()
    const left = fetch(`${url}/jobs/poll`, {
      method: 'POST',
      body: JSON.stringify({ worker_id: gone.id }),
      headers: { ...gone.by, 'content-type': 'application/json', prefer: 'wait=50' },
      signal: leaving.signal,
    }).catch(() => null)
    await until('it waits', async () => (await waitingPolls()) === 1)
    const waiting = poll(here, 20)
    await until('both wait', async () => (await waitingPolls()) === 2)

    leaving.abort()
    await left
    await until('it has left', async () => (await waitingPolls()) === 1)
    await submitJob()

    assert.equal((await waiting).status, 200)
  })

  test('pool 4.8: an expired lease means a new assignment and nonce for another worker, and a late submit is refused', async (t) => {
    const { worker, poll, beat, submit, submitJob, job, at } = await setup(t)
    const database = await connect(t, at)
    const [late, other] = [await worker('late'), await worker('other')]
    const jobId = await submitJob()
    const lost = (await poll(late)).body

    await expireLeases(database)
    const waiting = await poll(other, 20)
    const found = waiting.body

    assert.equal(waiting.status, 200)
    assert.notEqual(found.assignment_id, lost.assignment_id)
    assert.notEqual(found.nonce, lost.nonce)
    const refused = await submit(late, lost)
    assert.deepEqual([refused.status, refused.body.detail], [409, 'Assignment is not in a submittable state'])
    assert.deepEqual((await beat(late)).body.cancelled, [lost.assignment_id])
    assert.equal((await submit(other, found)).status, 200)
    assert.equal((await job(jobId)).result.worker_id, other.id)
    assert.equal((await submit(late, lost)).body.detail, 'Assignment is not in a submittable state')
  })

  test('pool 4.9: a worker whose lease expired and that polls again may get the job again, as a new assignment', async (t) => {
    const { worker, poll, submitJob, at } = await setup(t)
    const database = await connect(t, at)
    const mine = await worker('w')
    await submitJob()
    const lost = (await poll(mine)).body

    await database.query(`update jobs set lease_until = clock_timestamp() where state = 'processing'`)
    const found = await poll(mine)

    assert.equal(found.status, 200)
    assert.notEqual(found.body.assignment_id, lost.assignment_id)
    assert.notEqual(found.body.nonce, lost.nonce)
  })

  test('pool 4.10: a job whose workers vanish JOB_MAX_ATTEMPTS times has failed', async (t) => {
    const { worker, poll, submitJob, job, at } = await setup(t, { env: { JOB_MAX_ATTEMPTS: '2' } })
    const database = await connect(t, at)
    const mine = await worker('w')
    const jobId = await submitJob()

    for (let attempt = 0; attempt < 2; attempt += 1) {
      assert.equal((await poll(mine)).status, 200)
      await database.query(`update jobs set lease_until = clock_timestamp() where state = 'processing'`)
    }

    assert.equal((await poll(mine)).status, 404)
    const ended = await job(jobId, 20)
    assert.deepEqual([ended.status, ended.error_message], ['failed', 'attempts_exhausted'])
  })
})

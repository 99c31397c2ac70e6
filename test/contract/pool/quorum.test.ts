// Replicas and quorums, canaries, reputation and bans.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { until } from '../../support/until.ts'
import {
  connect,
  setup,
  sha256,
  type Assigned,
  type Credentials,
  type Pool,
  type SetupOptions,
  type Worker,
} from './setup.ts'

const answer = (text: string) => ({ output: { answer: text }, output_hash: sha256(`{"answer":"${text}"}`) })

/** So many workers, each of an owner of its own. */
async function withOwners(t: TestContext, count: number, options: SetupOptions = {}) {
  const pool = await setup(t, options)
  const owners = await Promise.all(Array.from({ length: count }, (_, n) => pool.account(`owner ${n}`, 'WORKER_OWNER')))
  const workers = await Promise.all(owners.map((by, n) => pool.worker(`w${n}`, {}, by)))
  return { pool, workers }
}

async function take(pool: Pool, worker: Worker | undefined): Promise<Assigned> {
  assert(worker !== undefined)
  const { status, body } = await pool.poll(worker)
  assert.equal(status, 200, `worker ${worker.id}: ${JSON.stringify(body)}`)
  return body
}

async function takeAndSay(pool: Pool, worker: Worker | undefined, text: string): Promise<void> {
  assert(worker !== undefined)
  const said = await pool.submit(worker, await take(pool, worker), answer(text))
  assert.equal(said.status, 200, said.text)
}

const addCanaries = (pool: Pool, count: number) =>
  Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const body = { payload: { canary: n }, output: { answer: `canary ${n}` } }
      assert.equal((await pool.ask('POST', '/admin/pool/canaries', body, pool.admin)).status, 201)
    }),
  )

const standing = async (pool: Pool, worker: Worker) =>
  (await pool.ask('GET', `/admin/pool/workers/${worker.id}`, undefined, pool.admin)).body

describe('replicas and quorum', () => {
  test('pool 8.1: the job is done when a quorum of different owners agrees; open replicas are cancelled', async (t) => {
    const { pool, workers } = await withOwners(t, 3)
    const jobId = await pool.submitJob({ replicas: 3, quorum: 2 })
    const [first, second, third] = workers
    assert(third !== undefined)

    const late = await take(pool, third)
    await takeAndSay(pool, first, 'yes')
    assert.equal((await pool.job(jobId)).status, 'running')
    await takeAndSay(pool, second, 'yes')

    const job = await pool.job(jobId, 20)
    assert.deepEqual([job.status, job.result.output, job.replicas, job.quorum], ['completed', { answer: 'yes' }, 3, 2])
    assert.deepEqual(
      job.votes.map(({ verdict }: { verdict: string }) => verdict),
      ['agreed', 'agreed'],
    )
    await until('the third is told', async () => (await pool.beat(third)).body.cancelled?.[0] === late.assignment_id)
    assert.equal((await pool.submit(third, late)).body.detail, 'Assignment is not in a submittable state')
    assert.equal((await pool.poll(third)).status, 404)
  })

  test('pool 8.2: an owner never gets two replicas of one job, with any of its workers', async (t) => {
    const { pool, workers } = await withOwners(t, 2)
    const [first, second] = workers
    assert(first !== undefined && second !== undefined)
    const sibling = await pool.worker('sibling', {}, first.by)
    await pool.submitJob({ replicas: 3, quorum: 2 })

    await take(pool, first)
    assert.equal((await pool.poll(sibling)).status, 404)
    await take(pool, second)
    const mine = await pool.poll(sibling)
    assert.equal(mine.status, 404)
  })

  test('pool 8.3: without agreement one more replica is issued, up to a limit; then the job has failed', async (t) => {
    const { pool, workers } = await withOwners(t, 6, { env: { POOL_EXTRA_REPLICAS: '1' } })
    const agreed = await pool.submitJob({ replicas: 3, quorum: 2 })

    for (const [index, text] of ['a', 'b', 'c', 'a'].entries()) await takeAndSay(pool, workers[index], text)
    const done = await pool.job(agreed, 20)
    const second = await pool.submitJob({ replicas: 3, quorum: 2 })
    for (const [index, text] of ['a', 'b', 'c', 'd'].entries()) await takeAndSay(pool, workers[index], text)
    const failed = await pool.job(second, 20)

    assert.deepEqual([done.status, done.result.output.answer], ['completed', 'a'])
    assert.deepEqual(
      done.votes.map(({ verdict }: { verdict: string }) => verdict),
      ['agreed', 'disagreed', 'disagreed', 'agreed'],
    )
    assert.deepEqual([failed.status, failed.error_message], ['failed', 'No quorum: of 4 results at most 1 agree.'])
    assert.equal(failed.result, null)
    assert.equal((await pool.poll(workers[4] ?? assert.fail())).status, 404)
  })

  test('pool 8.4: failures agree with each other, and a result with a wrong output_hash agrees with nothing', async (t) => {
    const { pool, workers } = await withOwners(t, 5)
    const [one, two, three, four] = workers
    assert(one !== undefined && two !== undefined && three !== undefined && four !== undefined)
    const hopeless = await pool.submitJob({ replicas: 2, quorum: 2 })
    for (const worker of [one, two]) {
      const failure = { output: null, output_hash: null, error_message: `cannot: ${worker.id}` }
      await pool.submit(worker, await take(pool, worker), failure)
    }
    const failed = await pool.job(hopeless, 20)

    const forged = await pool.submitJob({ replicas: 2, quorum: 2 })
    for (const worker of [one, two]) {
      await pool.submit(worker, await take(pool, worker), { ...answer('x'), output_hash: 'another' })
    }
    assert.equal((await pool.job(forged)).status, 'pending')
    for (const worker of [three, four]) await takeAndSay(pool, worker, 'x')

    assert.deepEqual([failed.status, failed.error_message], ['failed', `cannot: ${one.id}`])
    const done = await pool.job(forged, 20)
    assert.deepEqual([done.status, done.result.worker_id], ['completed', three.id])
  })

  test('pool 8.5: a replica whose worker vanishes goes to another owner, or to the same one again', async (t) => {
    const { pool, workers } = await withOwners(t, 2)
    const database = await connect(t, pool.at)
    const [first, second] = workers
    const jobId = await pool.submitJob({ replicas: 2, quorum: 2 })
    await take(pool, first)
    await takeAndSay(pool, second, 'x')
    await database.query(`update jobs set lease_until = clock_timestamp() where state = 'processing'`)

    await takeAndSay(pool, first, 'x')

    assert.equal((await pool.job(jobId, 20)).status, 'completed')
  })

  test('pool 8.6: cancelling the job cancels its replicas', async (t) => {
    const { pool, workers } = await withOwners(t, 2)
    const [first, second] = workers
    assert(first !== undefined && second !== undefined)
    const jobId = await pool.submitJob({ replicas: 2, quorum: 2 })
    const held = await take(pool, first)

    assert.equal((await pool.ask('POST', `/v1/jobs/${jobId}/cancel`, undefined, pool.client)).status, 200)

    assert.deepEqual((await pool.beat(first)).body.cancelled, [held.assignment_id])
    assert.equal((await pool.poll(second)).status, 404)
    assert.equal((await pool.job(jobId)).status, 'cancelled')
  })

  test('pool 8.7: the replay of a dead job issues new replicas', async (t) => {
    const { pool, workers } = await withOwners(t, 2)
    const plain = await pool.submitJob()
    const shared = await pool.submitJob({ replicas: 2, quorum: 2 })
    for (const id of [plain, shared]) await pool.ask('POST', `/v1/jobs/${id}/cancel`, undefined, pool.client)

    const replays = await Promise.all(
      [plain, shared].map(
        async (id) => (await pool.ask('POST', `/admin/jobs/${id}/replay`, undefined, pool.admin)).body.job_id,
      ),
    )
    const [first, second] = workers
    assert(first !== undefined && second !== undefined)
    await until('the replays have ended', async () => {
      for (const worker of [first, second]) {
        const got = await pool.poll(worker)
        if (got.status === 200) await pool.submit(worker, got.body, answer('x'))
      }
      const jobs = await Promise.all(replays.map((id) => pool.job(id)))
      return jobs.every(({ finished_at: finished }) => finished !== null)
    })

    for (const id of replays) assert.equal((await pool.job(id)).status, 'completed')
  })
})

describe('canaries and reputation', () => {
  const ENV = { POOL_PROBATION_CANARIES: '2' }
  /** New canaries are submitted a moment later, by a loop. */
  const STOCKED_SEC = 40

  test('pool 11.1: a canary looks like any job; a wrong output bans the worker, right ones make it trusted', async (t) => {
    const { pool, workers } = await withOwners(t, 2, { env: ENV })
    const [honest, liar] = workers
    assert(honest !== undefined && liar !== undefined)
    await addCanaries(pool, 4)
    await pool.submitJob({ payload: { canary: 'no' }, requirements: { region: 'nowhere' } })

    const work = async (worker: Worker, say: (job: { canary: number }) => string) => {
      const got = await pool.poll(worker, STOCKED_SEC)
      assert.deepEqual(
        [got.status, Object.keys(got.body)],
        [200, ['assignment_id', 'job', 'nonce', 'cost_hint_tokens', 'lease_expires_at']],
      )
      assert.equal((await pool.submit(worker, got.body, answer(say(got.body.job)))).status, 200)
    }
    assert.equal((await standing(pool, honest)).standing, 'probation')
    await work(honest, ({ canary }) => `canary ${canary}`)
    await work(honest, ({ canary }) => `canary ${canary}`)
    await work(liar, () => 'something')

    const [good, bad] = [await standing(pool, honest), await standing(pool, liar)]
    assert.deepEqual([good.standing, good.canaries_passed, good.reputation], ['trusted', 2, 0.75])
    assert.deepEqual([bad.standing, bad.canaries_wrong, bad.ban_reason], ['banned', 1, 'wrong results'])
    assert.deepEqual(
      bad.audit.map(({ action, actor_id: actor }: { action: string; actor_id: unknown }) => [action, actor]),
      [['ban', null]],
    )
    const mine = (await pool.ask('GET', `/workers/${honest.id}/reputation`, undefined, honest.by)).body
    assert.deepEqual(mine, {
      worker_id: honest.id,
      standing: 'trusted',
      reputation: 0.8,
      completed: 2,
      failed: 0,
      lost: 0,
      banned_at: null,
      ban_reason: null,
    })
    assert.equal((await pool.ask('GET', `/workers/${honest.id}/reputation`, undefined, liar.by)).status, 404)
  })

  test('pool 11.2: a worker gets each canary once; a trusted one only in place of a job; retired canaries go to nobody', async (t) => {
    const { pool, workers } = await withOwners(t, 1, { env: { ...ENV, POOL_CANARY_PERCENT: '100' } })
    const [worker] = workers
    assert(worker !== undefined)
    await addCanaries(pool, 3)
    const seen: unknown[] = []
    const next = async (waitSec = STOCKED_SEC) => {
      const got = await pool.poll(worker, waitSec)
      if (got.status !== 200) return false
      const { job } = got.body
      seen.push(job.canary ?? 'job')
      const said = job.canary === undefined ? answer('x') : answer(`canary ${job.canary}`)
      assert.equal((await pool.submit(worker, got.body, said)).status, 200)
      return true
    }

    assert.deepEqual([await next(), await next()], [true, true])
    assert.equal(await next(2), false, 'a trusted worker gets no canary for nothing')
    await pool.submitJob({ payload: {} })
    assert.deepEqual([await next(), await next()], [true, true])
    assert.equal(seen.length, 4)
    assert.deepEqual(seen.slice(0, 3).toSorted(), [0, 1, 2])
    assert.equal(seen[3], 'job')

    const { canaries } = (await pool.ask('GET', '/admin/pool/canaries', undefined, pool.admin)).body
    assert.deepEqual(
      canaries.map(({ used_by: used }: { used_by: number }) => used),
      [1, 1, 1],
    )
    for (const { canary_id: id } of canaries) {
      assert.equal((await pool.ask('DELETE', `/admin/pool/canaries/${id}`, undefined, pool.admin)).status, 204)
      assert.equal((await pool.ask('DELETE', `/admin/pool/canaries/${id}`, undefined, pool.admin)).status, 404)
    }
    const fresh = await pool.worker('fresh', {}, worker.by)
    assert.equal((await pool.poll(fresh)).status, 404)
    // Each process counts the canaries again when the bus tells it that some were retired.
    await until('the retired ones no longer count', async () => (await standing(pool, fresh)).standing === 'trusted')
  })

  test('pool 11.4: workers on probation run fewer replicas of a job than its quorum', async (t) => {
    const { pool, workers } = await withOwners(t, 3, { env: ENV })
    await addCanaries(pool, 1)
    for (const worker of workers) {
      const { body } = await pool.poll(worker, STOCKED_SEC)
      assert.deepEqual(body.job, { canary: 0 })
      await pool.submit(worker, body, { output: null, output_hash: null, error_message: 'I cannot' })
      const { standing: now, canaries_passed: passed, canaries_wrong: wrong } = await standing(pool, worker)
      assert.deepEqual([now, passed, wrong], ['probation', 0, 0], 'to say that it cannot is no lie, and proves nothing')
    }
    const [one, two, three] = workers
    assert(one !== undefined && two !== undefined && three !== undefined)
    const jobId = await pool.submitJob({ replicas: 3, quorum: 2 })

    await take(pool, one)
    assert.deepEqual([(await pool.poll(two)).status, (await pool.poll(three)).status], [404, 404])
    const { reasons } = (await pool.ask('GET', `/v1/jobs/${jobId}/why`, undefined, pool.client)).body
    assert.match(reasons.join(' '), /At most 1 of its replicas go to workers that are still on probation/)
    await pool.submitJob({ payload: { plain: true } })
    assert.deepEqual((await pool.poll(two)).body.job, { plain: true })
  })

  test('pool 11.7: admins see all workers and counts; others may not', async (t) => {
    const { pool, workers } = await withOwners(t, 2)
    const [first] = workers
    assert(first !== undefined)
    await pool.beat(first)

    const all = (await pool.ask('GET', '/admin/pool/workers?limit=1', undefined, pool.admin)).body.workers
    assert.equal(all.length, 1)
    const status = (await pool.ask('GET', '/admin/pool/status', undefined, pool.admin)).body
    assert.deepEqual(
      status.workers.toSorted((a: { state: string }, b: { state: string }) => (a.state < b.state ? -1 : 1)),
      [
        { state: 'offline', count: 1 },
        { state: 'online', count: 1 },
      ],
    )
    const paths = [
      'GET /admin/pool/status',
      'GET /admin/pool/workers',
      'GET /admin/pool/workers/1',
      'GET /admin/pool/canaries',
      'GET /admin/pool/receipts',
      'POST /admin/pool/canaries',
      'POST /admin/pool/workers/1/ban',
      'POST /admin/pool/workers/1/unban',
    ]
    for (const path of paths) {
      const [method = '', url = ''] = path.split(' ')
      assert.equal((await pool.ask(method, url, method === 'GET' ? undefined : {}, pool.owner)).status, 403, path)
      assert.equal((await pool.ask(method, url, method === 'GET' ? undefined : {})).status, 401, path)
    }
    const scraped = await fetch(`${pool.url}/metrics`, { headers: { accept: 'text/plain' } })
    assert.match(await scraped.text(), /pool_workers\{state="online"\} 1/)
  })
})

describe('bans', () => {
  const ban = (pool: Pool, worker: Worker, by: Credentials = pool.admin) =>
    pool.ask('POST', `/admin/pool/workers/${worker.id}/ban`, { reason: 'lies' }, by)

  test('pool 11.5: a banned worker loses its assignment, gets nothing, and stays banned whatever it sends', async (t) => {
    const { pool, workers } = await withOwners(t, 2)
    const [bad, good] = workers
    assert(bad !== undefined && good !== undefined)
    const jobId = await pool.submitJob()
    const held = await take(pool, bad)

    assert.deepEqual((await ban(pool, bad)).body, { worker_id: bad.id, status: 'banned' })
    assert.equal((await ban(pool, bad)).status, 200, 'again changes nothing')

    assert.equal((await pool.submit(bad, held)).body.detail, 'Assignment is not in a submittable state')
    assert.equal((await pool.poll(bad)).body.detail, 'No assignment available')
    assert.equal((await pool.beat(bad)).status, 200)
    const [listed] = (await pool.ask('GET', '/workers', undefined, bad.by)).body.workers
    assert.equal(listed.status, 'banned')
    await takeAndSay(pool, good, 'x')
    assert.equal((await pool.job(jobId)).status, 'completed')
    const { audit, ban_reason: reason } = await standing(pool, bad)
    assert.equal(reason, 'lies')
    assert.equal(audit.length, 1)
  })

  test('pool 11.5: the result of a banned worker counts in no undecided quorum', async (t) => {
    const { pool, workers } = await withOwners(t, 4)
    const [liar, accomplice, one, two] = workers
    assert(liar !== undefined)
    const jobId = await pool.submitJob({ replicas: 3, quorum: 2 })
    await takeAndSay(pool, liar, 'lie')

    await ban(pool, liar)
    await takeAndSay(pool, accomplice, 'lie')
    assert.notEqual((await pool.job(jobId)).status, 'completed')
    await takeAndSay(pool, one, 'truth')
    await until('one more replica is there', async () => {
      const got = await pool.poll(two ?? assert.fail())
      if (got.status !== 200) return false
      await pool.submit(two ?? assert.fail(), got.body, answer('truth'))
      return true
    })

    const job = await pool.job(jobId, 20)
    assert.deepEqual([job.status, job.result.output.answer], ['completed', 'truth'])
  })

  test('pool 11.6: an unbanned worker starts over; both are audited; 404 and 409 where there is nothing to do', async (t) => {
    const { pool, workers } = await withOwners(t, 1)
    const [worker] = workers
    assert(worker !== undefined)
    const unban = (id: number) => pool.ask('POST', `/admin/pool/workers/${id}/unban`, { reason: 'mistake' }, pool.admin)

    assert.deepEqual([(await unban(worker.id)).status, (await unban(999)).status], [409, 404])
    assert.equal((await pool.ask('POST', '/admin/pool/workers/999/ban', { reason: 'x' }, pool.admin)).status, 404)
    assert.equal((await pool.ask('POST', `/admin/pool/workers/${worker.id}/ban`, {}, pool.admin)).status, 422)
    await ban(pool, worker)
    assert.equal((await unban(worker.id)).status, 200)
    await pool.submitJob()
    await takeAndSay(pool, worker, 'x')
    const { audit, standing: now } = await standing(pool, worker)
    assert.deepEqual(
      audit.map(({ action, reason }: { action: string; reason: string }) => [action, reason]),
      [
        ['unban', 'mistake'],
        ['ban', 'lies'],
      ],
    )
    assert.equal(now, 'trusted')
  })
})

// Workers that vanish, freeze and come back late; and a server that is killed while it decides.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test, type TestContext } from 'node:test'
import { problemWithChain, problemWithReceipt, type Receipt } from '@reeve/sdk/pool'
import type { Client } from 'pg'
import { connect, send, setup, type Pool, type Worker } from '../contract/pool/setup.ts'
import { seeded } from '../support/seeded.ts'
import { startRedis } from '../support/servers.ts'
import { postAtOnce } from '../support/at-once.ts'
import { atEnd } from '../support/cleanup.ts'
import { stormJobs } from '../support/size.ts'
import { until } from '../support/until.ts'
import { startServerProcess } from './pool-server-process.ts'
import { startWorkerProcess, type WorkerProcess } from './pool-worker.ts'

const SEED = Number(process.env['REEVE_TEST_SEED'] ?? randomInt(2 ** 31))
const PROCESSES = 8
const WORKERS_EACH = 4
const CREWS = 2 * PROCESSES // who was killed comes back later, as somebody else meanwhile
const LEASE_SEC = 2
const FROZEN_MS = { min: 0.5 * LEASE_SEC * 1000, max: 2 * LEASE_SEC * 1000 }
const STORM_SHARE = 0.9 // of the jobs: what somebody did who was killed before saying so is not counted
const WORK_MS_MAX = 8
const SUBMITS_MAX = 500 // at once
const LATE = 'Assignment is not in a submittable state'
const TIMEOUT = { timeout: stormJobs(280_000) }

const FEEDS = [
  { feed: 'PostgreSQL', jobs: stormJobs(2000), strikes: 40 },
  { feed: 'Redis', jobs: stormJobs(600), strikes: 16 },
] as const

for (const { feed, jobs, strikes } of FEEDS) {
  describe(`workers killed and frozen at random, with ${feed} as the feed`, () => {
    test(`each of ${jobs} jobs on ${PROCESSES} processes has one result (seed ${SEED})`, TIMEOUT, async (t) => {
      const pool = await setup(t, { server: await startServerProcess(t, await envFor(t, feed)) })
      const database = await connect(t, pool.at)
      const crews = await Promise.all(Array.from({ length: CREWS }, (_, n) => crewOf(pool, `w${n}`, WORKERS_EACH)))
      const random = seeded(SEED)
      const submitting = submitJobs(pool, jobs, random)

      const processes = await storm(t, pool, { crews, random, jobs, strikes })
      const jobIds = await submitting
      await until(
        'every job has ended',
        async () => (await countDone(database)) === jobs,
        () => unended(database),
      )
      await until('the late have said their last', () => processes.every((one) => one.isDead() || isIdle(one)))
      await Promise.all(processes.map((one) => one.kill()))

      await assertOnce(database, jobIds)
      await assertReceipts(pool, database, jobs)
      const late = processes.flatMap((one) => one.refusals())
      const { rows } = await database.query('select count(*)::integer as n from attempts')
      t.diagnostic(`${strikes} strikes, ${rows[0].n} attempts lost, ${late.length} late results refused`)
      assert(rows[0].n > 0, 'nobody was hit at work')
      for (const detail of late) assert.equal(detail, LATE)
    })
  })
}

describe('a worker that is late', () => {
  test('is refused, and its job has the result of the one who took it over', TIMEOUT, async (t) => {
    const pool = await setup(t, { env: { POOL_LEASE_SECONDS: String(LEASE_SEC) } })
    const second = await pool.worker('second')
    const late = startWorkerProcess(t, pool.url, await crewOf(pool, 'first', 1))
    const jobId = await pool.submitJob({ payload: { n: 1, ms: 2 * LEASE_SEC * 1000 } })
    await until('it is at work', () => late.count('assigned') === 1)

    const { body: assignment } = await pool.poll(second, 50)
    const taken = await pool.submit(second, assignment, { output: { n: 2 } })
    await until('it has said its result', () => late.count('refused') > 0)

    assert.equal(taken.status, 200)
    assert.equal(late.refusals()[0], LATE)
    assert.deepEqual((await pool.job(jobId)).result.output, { n: 2 })
  })
})

describe('a worker that vanishes', () => {
  test('leaves its job to another one, which runs it within the lease and 5 seconds', TIMEOUT, async (t) => {
    const pool = await setup(t, { env: { POOL_LEASE_SECONDS: String(LEASE_SEC) } })
    const second = await pool.worker('second')
    const doomed = startWorkerProcess(t, pool.url, await crewOf(pool, 'first', 1))
    await pool.submitJob({ payload: { n: 1, ms: 600_000 } })
    await until('it is at work', () => doomed.count('assigned') === 1)
    const waiting = pool.poll(second, 50)

    await doomed.kill()
    const killed = performance.now()
    const found = await waiting

    const tookMs = performance.now() - killed
    assert.equal(found.status, 200)
    assert(tookMs <= LEASE_SEC * 1000 + 5000, `${tookMs} ms`)
  })
})

async function envFor(t: TestContext, feed: string): Promise<Record<string, string>> {
  const common = { POOL_LEASE_SECONDS: String(LEASE_SEC), JOB_MAX_ATTEMPTS: '100' }
  if (feed === 'PostgreSQL') return common
  const redis = await startRedis()
  atEnd(t, redis.stop)
  return { ...common, REDIS_URL: redis.at }
}

const crewOf = (pool: Pool, name: string, count: number): Promise<Worker[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => pool.worker(`${name} ${n}`)))

async function submitJobs(pool: Pool, count: number, random: () => number): Promise<string[]> {
  const jobIds: string[] = []
  while (jobIds.length < count) {
    const some = Array.from({ length: Math.min(SUBMITS_MAX, count - jobIds.length) }, (_, n) => {
      const payload = { n: jobIds.length + n, ms: Math.floor(random() * WORK_MS_MAX) }
      return { path: '/v1/jobs', body: { payload }, headers: pool.client }
    })
    for (const { status, body } of await postAtOnce(pool.url, some)) {
      assert.equal(status, 202)
      jobIds.push(String(body.job_id))
    }
  }
  return jobIds
}

/** Kills or freezes somebody each time that so many more jobs are done. Who was killed is replaced. */
async function storm(
  t: TestContext,
  pool: Pool,
  { crews, random, jobs, strikes }: { crews: readonly Worker[][]; random: () => number; jobs: number; strikes: number },
): Promise<WorkerProcess[]> {
  const idle = [...crews]
  const start = () => startWorkerProcess(t, pool.url, idle.shift() ?? assert.fail('no crew is left'))
  const alive = Array.from({ length: PROCESSES }, start)
  const all = [...alive]
  const frozen = new Map<WorkerProcess, Promise<void>>()
  const submitted = () => all.reduce((sum, one) => sum + one.count('submitted'), 0)
  const awake = () => alive.filter((one) => one.count('assigned') > 0 && !frozen.has(one))
  for (let strike = 1; strike <= strikes; strike += 1) {
    const due = (strike * jobs * STORM_SHARE) / strikes
    await until(`strike ${strike}`, () => submitted() >= due && awake().length > 0, submitted)
    const victims = awake()
    const victim = victims[Math.floor(random() * victims.length)] ?? assert.fail('nobody is awake')
    if (strike % 2 === 0 && frozen.size < PROCESSES / 2) {
      const thawed = victim.freeze(FROZEN_MS.min + random() * (FROZEN_MS.max - FROZEN_MS.min))
      frozen.set(
        victim,
        thawed.finally(() => frozen.delete(victim)),
      )
      continue
    }
    await victim.kill()
    idle.push([...victim.workers])
    const next = start()
    alive.splice(alive.indexOf(victim), 1, next)
    all.push(next)
  }
  await Promise.all(frozen.values())
  return all
}

const isIdle = (one: WorkerProcess): boolean => one.count('assigned') === one.count('submitted') + one.count('refused')

async function countDone(database: Client): Promise<number> {
  const { rows } = await database.query(`select count(*)::integer as n from jobs where state = 'done'`)
  return rows[0].n
}

const unended = async (database: Client) =>
  (
    await database.query(
      `select j.*, t.worker_id from jobs j left join pool_tasks t using (job_id) where state <> 'done' limit 3`,
    )
  ).rows

/** One result for each, the right one, by the attempt that the ledger knows; and nothing left over. */
async function assertOnce(database: Client, jobIds: readonly string[]): Promise<void> {
  const { rows: wrong } = await database.query(`
    select j.job_id, j.state, j.attempt_id, a.attempt_id as by, r.output
      from jobs j
      left join pool_results r on r.job_id = j.job_id
      left join pool_assignments a on a.assignment_id = r.assignment_id
     where j.kind = 'pool' and (r.job_id is null or j.state <> 'done' or a.attempt_id <> j.attempt_id
        or (r.output ->> 'n') is distinct from ((j.payload ->> 'job')::json ->> 'n'))`)
  assert.deepEqual(wrong, [])
  const { rows } = await database.query(`
    select (select count(*) from pool_results)::integer as results, (select count(*) from pool_tasks)::integer as tasks,
           (select count(*) from jobs)::integer as jobs, (select sum(completed) from pool_workers)::integer as completed`)
  const count = jobIds.length
  assert.deepEqual(rows, [{ results: count, tasks: 0, jobs: count, completed: count }])
  const { rowCount } = await database.query(
    `select from unnest($1::uuid[]) as id where id not in (select job_id from jobs)`,
    [jobIds],
  )
  assert.equal(rowCount, 0)
}

/** As many receipts as results, in one chain that holds, each signed by the server. */
async function assertReceipts(pool: Pool, database: Client, count: number): Promise<void> {
  const number = async () => (await database.query('select count(*)::integer as n from pool_receipts')).rows[0].n
  await until('every result has its receipt', async () => (await number()) === count, number)
  const { public_key: key } = (await send(pool.url, 'GET', '/v1/receipts/key')).body
  const receipts: Receipt[] = []
  while (receipts.length < count) {
    const path = `/admin/pool/receipts?limit=1000&after=${receipts.length}`
    const page: Receipt[] = (await send(pool.url, 'GET', path, undefined, pool.admin)).body.receipts
    assert(page.length > 0)
    receipts.push(...page)
  }
  assert.equal(problemWithChain(receipts), null)
  assert.equal(new Set(receipts.map(({ receipt }) => receipt.assignment_id)).size, count)
  assert.deepEqual(
    receipts.map(({ receipt }) => receipt.number),
    Array.from({ length: count }, (_, n) => n + 1),
  )
  const sample = receipts.filter((_, n) => n % 50 === 0)
  for (const receipt of sample) assert.equal(problemWithReceipt(receipt, key), null)
}

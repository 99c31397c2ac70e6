// The pool's server, or PostgreSQL, is killed between each commit and its answer. Clients and workers ask again, as they do when a
// connection breaks. Afterwards every job has ended, once, and nothing of it is left.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newKey, submission, type Worker } from '../contract/pool/setup.ts'
import { until } from '../support/until.ts'
import { setupCommits, VICTIMS, type CommitRig } from './commit-rig.ts'
import { FEEDS } from './rig.ts'

const TIMEOUT = { timeout: 400_000 }
const OWNERS = ['ann', 'bob', 'cem']
const SETTINGS = {
  DOORS: 'pool',
  LOG_LEVEL: 'silent',
  POOL_LEASE_SECONDS: '2',
  JOB_MAX_ATTEMPTS: '100',
}

const JOBS = {
  plain: { payload: { n: 1 } },
  replicated: { payload: { n: 2 }, replicas: 2, quorum: 2 },
  retried: { payload: { n: 3, fails_first: true }, max_attempts: 2 },
  cancelled: { payload: { n: 4 }, requirements: { region: 'nowhere' } },
}

const LEFT = `
  select (select count(*) from jobs where state not in ('done', 'dead'))::integer as unended,
         (select count(*) from pool_tasks)::integer as tasks,
         (select count(*) from pool_quorums where touches > settled)::integer as unsettled,
         (select count(*) from pool_results)::integer - (select count(*) from pool_receipts)::integer as unreceipted`
const TWICE = `select job_id from pool_results where is_final group by job_id having count(*) > 1`
const MISCOUNTED = `
  select w.worker_id from pool_workers w
   where (w.completed, w.failed) <> (
     select count(*) filter (where status = 'completed'), count(*) filter (where status = 'failed')
       from pool_results r where r.worker_id = w.worker_id)`

for (const [index, feed] of FEEDS.entries()) {
  describe(`the pool killed between commit and answer, with ${feed} as the feed`, () => {
    test('every job ends once, and nothing of it is left', TIMEOUT, async (t) => {
      const rig = await setupCommits(t, {
        feed,
        tables: /^(jobs|pool_tasks|pool_assignments|pool_results|pool_quorums|pool_receipts)$/,
        settings: SETTINGS,
      })
      const client = await rig.token('client', 'CLIENT')
      const over = new AbortController()
      const signal = AbortSignal.any([over.signal, rig.isOver])
      const working: Promise<void>[] = []
      for (const owner of OWNERS) working.push(work(rig, await hire(rig, owner), signal))

      const struck = await rig.atEveryCommit(VICTIMS[index] ?? 'the server', (round) => submitAll(rig, client, round))
      over.abort()
      await Promise.all(working)

      for (const strike of struck) t.diagnostic(strike)
      const left = async () => (await rig.database.query<Record<string, number>>(LEFT))[0] ?? {}
      await until('nothing is left', async () => Object.values(await left()).every((count) => count === 0), left)
      assert.deepEqual(await rig.database.query(TWICE), [])
      assert.deepEqual(await rig.database.query(MISCOUNTED), [])
      assert(struck.length >= Object.keys(JOBS).length * 2, 'the scenario was struck only a few times')
    })
  })
}

/** Submits one job of each sort and waits until each has ended as it should. */
async function submitAll(rig: CommitRig, client: string, round: number): Promise<void> {
  const ids = await Promise.all(
    Object.entries(JOBS).map(async ([name, job]) => {
      const key = { 'idempotency-key': `${name}-${round}` }
      const { status, body } = await rig.ask(client, 'POST', '/v1/jobs', job, key)
      assert.equal(status, 202, JSON.stringify(body))
      if (name === 'cancelled') await rig.ask(client, 'POST', `/v1/jobs/${body.job_id}/cancel`)
      return { name, id: String(body.job_id) }
    }),
  )
  for (const { name, id } of ids) {
    await until(`${name} has ended in round ${round}`, async () => {
      const { body } = await rig.ask(client, 'GET', `/v1/jobs/${id}`, undefined, { prefer: 'wait=5' })
      assert.notEqual(body.status, 'failed')
      return body.status === (name === 'cancelled' ? 'cancelled' : 'completed')
    })
  }
}

type Hired = Omit<Worker, 'by'> & { token: string }

async function hire(rig: CommitRig, owner: string): Promise<Hired> {
  const token = await rig.token(owner, 'WORKER_OWNER')
  const key = newKey()
  const { body } = await rig.ask(token, 'POST', '/workers/register', { name: owner, public_key: key.publicKey })
  return { id: Number(body.id), token, ...key }
}

const failed = new Set<string>()

/** A worker as the contract describes it: it repeats what was not answered, and forgets what was refused. */
async function work(rig: CommitRig, worker: Hired, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const polled = { worker_id: worker.id }
    const { status, body } = await rig.ask(worker.token, 'POST', '/jobs/poll', polled, { prefer: 'wait=1' })
    if (status !== 200) continue
    const fails = body.job.fails_first === true && !failed.has(body.job_id)
    if (fails) failed.add(body.job_id)
    const result = fails ? { output: null, output_hash: null, error_message: 'the first one fails' } : {}
    await rig.ask(worker.token, 'POST', '/jobs/submit', submission(worker, body, result))
  }
}

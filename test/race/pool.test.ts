// Many at once at the pool: one assignment, one worker, one job, one replica per owner, one receipt per result.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  connect,
  expireLeases,
  send,
  setup,
  sha256,
  startServer,
  submission,
  type Assigned,
  type Worker,
} from '../contract/pool/setup.ts'
import { postAtOnce } from '../support/at-once.ts'
import { until } from '../support/until.ts'

const counted = (details: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const detail of details) counts[detail] = (counts[detail] ?? 0) + 1
  return counts
}

describe('a thousand submits of one assignment at once', () => {
  for (const servers of [1, 2]) {
    test(`over ${servers} server(s): one is 200, the others are 409, and there is one result and one receipt`, async (t) => {
      const pool = await setup(t)
      const urls = [pool.url]
      if (servers === 2) urls.push((await startServer(t, { on: pool.at, role: 'serve' })).url)
      const database = await connect(t, pool.at)
      const worker = await pool.worker('w')
      const jobId = await pool.submitJob()
      const assigned: Assigned = (await pool.poll(worker)).body

      const submits = Array.from({ length: 1000 }, (_, n) => {
        const body = submission(worker, assigned, { output: { n }, output_hash: sha256(`{"n":${n}}`) })
        return { path: '/jobs/submit', body, headers: worker.by }
      })
      const share = submits.length / servers
      const answers = (
        await Promise.all(urls.map((url, n) => postAtOnce(url, submits.slice(n * share, (n + 1) * share))))
      ).flat()

      assert.deepEqual(counted(answers.map(({ status }) => String(status))), { '200': 1, '409': 999 })
      const details = answers.filter(({ status }) => status === 409).map(({ body }) => body.detail)
      assert.deepEqual(counted(details), { 'Assignment already submitted': 999 })
      const winner = answers.findIndex(({ status }) => status === 200)
      assert.deepEqual((await pool.job(jobId)).result.output, { n: winner })
      await until('it has its receipt', async () => (await database.query('select from pool_receipts')).rowCount === 1)
      assert.equal((await database.query('select from pool_results')).rowCount, 1)
      assert.equal((await database.query(`select from outbox_events where topic = 'pool_receipt'`)).rowCount, 0)
      const { rows } = await database.query('select completed from pool_workers')
      assert.deepEqual(rows, [{ completed: 1 }])
    })
  }
})

describe('polls at once, over two servers', () => {
  test('a worker that polls fifty times holds one assignment, and fifty workers get each job once', async (t) => {
    const pool = await setup(t)
    const { url } = await startServer(t, { on: pool.at, role: 'serve' })
    const database = await connect(t, pool.at)
    const one = await pool.worker('one')
    await Promise.all(Array.from({ length: 10 }, () => pool.submitJob()))
    const pollAt = (at: string, worker: Worker) => send(at, 'POST', '/jobs/poll', { worker_id: worker.id }, worker.by)

    const same = await Promise.all(Array.from({ length: 50 }, (_, n) => pollAt(n % 2 === 0 ? pool.url : url, one)))

    // A poll that another one of the same worker pushed aside is told that there is nothing.
    const ids = new Set(same.filter(({ status }) => status === 200).map(({ body }) => body.assignment_id))
    assert(ids.size <= 1)
    assert.equal((await pool.poll(one)).status, 200)
    const held = await database.query(`select from jobs where state = 'processing'`)
    assert.equal(held.rowCount, 1)

    const crowd = await Promise.all(Array.from({ length: 50 }, (_, n) => pool.worker(`w${n}`)))
    const answers = await Promise.all(crowd.map((worker, n) => pollAt(n % 2 === 0 ? pool.url : url, worker)))
    const given = answers.filter(({ status }) => status === 200).map(({ body }) => body.assignment_id)
    assert.equal(new Set(given).size, 9)
    const { rows } = await database.query(`select attempt_id, state, count(*)::integer as n from jobs group by 1, 2`)
    assert.deepEqual(rows, [{ attempt_id: 1, state: 'processing', n: 10 }])
  })

  test('workers of one owner get one replica of a job between them', async (t) => {
    const pool = await setup(t)
    const { url } = await startServer(t, { on: pool.at, role: 'serve' })
    const database = await connect(t, pool.at)
    const crowd = await Promise.all(Array.from({ length: 30 }, (_, n) => pool.worker(`w${n}`)))
    await pool.submitJob({ replicas: 5, quorum: 3 })

    const answers = await Promise.all(
      crowd.map((worker, n) =>
        send(n % 2 === 0 ? pool.url : url, 'POST', '/jobs/poll', { worker_id: worker.id }, worker.by),
      ),
    )

    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    assert.equal((await database.query('select from pool_parts')).rowCount, 1)
    assert.equal((await database.query(`select from jobs where kind = 'pool' and state = 'processing'`)).rowCount, 1)
  })

  test('a submit and the takeover of its lapsed lease: one of them wins', async (t) => {
    const pool = await setup(t)
    const database = await connect(t, pool.at)
    const [late, other] = [await pool.worker('late'), await pool.worker('other')]

    for (let round = 0; round < 5; round += 1) {
      const jobId = await pool.submitJob()
      const assigned: Assigned = (await pool.poll(late)).body
      await expireLeases(database)
      await database.query(`update pool_tasks set worker_id = null, held_at = null`)
      const [submitted, taken] = await Promise.all([pool.submit(late, assigned), pool.poll(other)])

      assert.deepEqual([submitted.status, submitted.body.detail], [409, 'Assignment is not in a submittable state'])
      const found = taken.status === 200 ? taken : await pool.poll(other, 10)
      assert.equal((await pool.submit(other, found.body)).status, 200)
      assert.equal((await pool.job(jobId)).result.worker_id, other.id)
      await pool.poll(late)
    }
  })
})

describe('a quorum that is decided by several at once', () => {
  test('ends its job once, over two servers, and judges every result once', async (t) => {
    const pool = await setup(t)
    const { url } = await startServer(t, { on: pool.at, role: 'serve' })
    const database = await connect(t, pool.at)
    const owners = await Promise.all(Array.from({ length: 5 }, (_, n) => pool.account(`o${n}`, 'WORKER_OWNER')))
    const workers = await Promise.all(owners.map((by, n) => pool.worker(`w${n}`, {}, by)))
    const jobIds = await Promise.all(Array.from({ length: 5 }, () => pool.submitJob({ replicas: 5, quorum: 2 })))

    for (const _ of jobIds) {
      const assigned = await Promise.all(workers.map((worker) => pool.poll(worker, 5)))
      await Promise.all(
        assigned.map(async ({ status, body }, n) => {
          const worker = workers[n]
          if (status !== 200 || worker === undefined) return
          await send(n % 2 === 0 ? pool.url : url, 'POST', '/jobs/submit', submission(worker, body), worker.by)
        }),
      )
    }
    for (const jobId of jobIds) assert.equal((await pool.job(jobId, 20)).status, 'completed')

    await until('all are settled', async () => {
      return (await database.query('select from pool_quorums where touches > settled')).rowCount === 0
    })
    const { rows } = await database.query(`
      select (select count(*) from pool_results where verdict = 'agreed')::integer as judged,
             (select count(*) from pool_results)::integer as results,
             (select sum(agreed) from pool_workers)::integer as agreed,
             (select count(*) from pool_tasks)::integer as tasks,
             (select count(*) from jobs where kind = 'pool_quorum' and state = 'done')::integer as done`)
    const [row] = rows
    assert.deepEqual([row.judged, row.agreed, row.tasks, row.done], [row.results, row.results, 0, 5])
  })
})

// pool_tasks after accidents: whatever a process left behind, a job that has not ended can be assigned again.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { leaseOwner } from '../../src/doors/pool/workers/presence.ts'
import { REQUEST, setupPool } from './pool-parts.ts'

async function withHeldJob(t: TestContext) {
  const world = await setupPool(t, { random: () => 0.5, env: {} })
  const submitted = await world.pool.submitJobs([REQUEST])
  assert(submitted.ok)
  const [jobId = ''] = submitted.jobIds
  const worker = await world.worker(1)
  const assignment = await world.poll(worker)
  assert(assignment !== null)
  const tasks = () => world.database.query<{ worker_id: string | null }>(`select worker_id from pool_tasks`)
  const held = { jobId, attemptId: 1, owner: leaseOwner(worker.workerId) }
  return { ...world, jobId, holder: worker, assignment, tasks, held }
}

describe('a task after an accident', () => {
  test('an acquire that was refused while the job was held leaves the task alone once the job is released', async (t) => {
    const { pool, jobId, holder, assignment, tasks, held } = await withHeldJob(t)
    await pool.assignments.release(holder.workerId, held, assignment.assignmentId)

    await pool.repair.task(jobId, 'lease_still_valid')

    assert.deepEqual(await tasks(), [{ worker_id: null }])
  })

  test('a task whose live worker no longer names it is released, and another worker gets the job', async (t) => {
    const { pool, database, holder, worker, poll, tasks } = await withHeldJob(t)
    // What a process leaves behind that dies after it cleared the worker's row and before it released the job.
    await database.query(`update pool_workers set assignment_id = null`)
    await database.query(`update pool_tasks set held_at = held_at - interval '1 minute'`)
    await pool.heartbeat(holder.workerId, holder.ownerId)

    await pool.repair.loop.runOnce(new AbortController().signal)

    assert.deepEqual(await tasks(), [{ worker_id: null }])
    assert.notEqual(await poll(await worker(2)), null)
  })

  test('a worker that went away during its poll and whose lease expired leaves the task free', async (t) => {
    const { pool, database, holder, assignment, tasks, held } = await withHeldJob(t)
    await database.query(`update jobs set lease_until = clock_timestamp() - interval '1 second'`)

    await pool.assignments.release(holder.workerId, held, assignment.assignmentId)

    assert.deepEqual(await tasks(), [{ worker_id: null }])
  })
})

describe('a replicated job that ends while replicas are issued', () => {
  test('no replica is issued after the end, and those that were are cancelled', async (t) => {
    const { pool, database } = await setupPool(t, { random: () => 0.5 })
    const submitted = await pool.submitJobs([{ ...REQUEST, replicas: 3, quorum: 2 }])
    assert(submitted.ok)
    const [jobId = ''] = submitted.jobIds
    // As a process sees it that read the quorum before its first replica was issued.
    await database.query(`delete from pool_tasks`)
    await database.query(`update pool_quorums set issued = 0`)
    await pool.cancel(jobId, 'cancelled by the client')

    await pool.quorums.settle(jobId)

    assert.deepEqual(await database.query(`select issued from pool_quorums`), [{ issued: 0 }])
    assert.deepEqual(await database.query(`select from pool_tasks`), [])
  })
})

describe('requirement classes', () => {
  test('unused ones are deleted when a client has reached its limit', async (t) => {
    const { pool, database } = await setupPool(t, { random: () => 0.5 })
    await database.query(`
      insert into pool_requirement_classes (client_id, region, key, used_at)
      select 1, 'r' || n, 'k' || n, clock_timestamp() - interval '1 hour' from generate_series(1, 1000) as n`)
    const [used] = await database.query<{ class_id: string }>(`select class_id from pool_requirement_classes limit 1`)
    await database.query(
      `insert into pool_tasks (job_id, class_id, priority, accepted_at, requires_hash)
       values (gen_random_uuid(), $1, 5, clock_timestamp(), false)`,
      [used?.class_id],
    )

    const submitted = await pool.submitJobs([{ ...REQUEST, requirements: { region: 'new', specs: null } }])

    assert(submitted.ok)
    const left = await database.query<{ class_id: string }>(`select class_id from pool_requirement_classes`)
    assert.equal(left.length, 2)
    assert(left.some((row) => row.class_id === used?.class_id))
  })

  test('the 1,001st is refused while all are in use', async (t) => {
    const { pool, database } = await setupPool(t, { random: () => 0.5 })
    await database.query(`
      insert into pool_requirement_classes (client_id, region, key) select 1, 'r' || n, 'k' || n from generate_series(1, 1000) as n`)

    const submitted = await pool.submitJobs([REQUEST])

    assert.deepEqual(submitted, { ok: false, code: 'too_many_requirements' })
  })
})

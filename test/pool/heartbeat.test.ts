// A heartbeat reads what its worker holds and then renews it: between the two anything may happen.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { openHeartbeat } from '../../src/doors/pool/workers/heartbeat.ts'
import { REQUEST, setupPool } from './pool-parts.ts'

/** `meanwhile` runs after the heartbeat has read what the worker holds, and before it renews that. */
async function beatDuring(
  t: TestContext,
  meanwhile: (world: Awaited<ReturnType<typeof withHeldJob>>) => Promise<unknown>,
) {
  const world = await withHeldJob(t)
  const { presence, assignments } = world.pool
  const { workerId, ownerId } = world.holder
  const heartbeat = openHeartbeat({
    assignments,
    presence: {
      ...presence,
      async touch(...key) {
        const worker = await presence.touch(...key)
        assert.equal(worker?.held?.assignmentId, world.assignment.assignmentId)
        await meanwhile(world)
        return worker
      },
    },
  })
  const beat = await heartbeat(workerId, ownerId)
  assert(beat.ok)
  return { cancelled: beat.cancelled, assignmentId: world.assignment.assignmentId }
}

async function withHeldJob(t: TestContext) {
  const world = await setupPool(t, { random: () => 0.5 })
  const submitted = await world.pool.submitJobs([REQUEST])
  assert(submitted.ok)
  const holder = await world.worker(1)
  const assignment = await world.poll(holder)
  assert(assignment !== null)
  return { ...world, jobId: submitted.jobIds[0] ?? '', holder, assignment }
}

describe('a heartbeat whose assignment ends before it is renewed', () => {
  test('a result that was recorded meanwhile is not reported as cancelled', async (t) => {
    const { cancelled } = await beatDuring(t, async ({ submit, holder, assignment }) => {
      assert((await submit(holder, assignment, '{}')).ok)
    })

    assert.deepEqual(cancelled, [])
  })

  test('a recorded result is not reported as cancelled when the worker has another job since', async (t) => {
    const { cancelled } = await beatDuring(t, async ({ submit, holder, assignment, pool, poll }) => {
      assert((await submit(holder, assignment, '{}')).ok)
      await pool.submitJobs([REQUEST])
      assert.notEqual(await poll(holder), null)
    })

    assert.deepEqual(cancelled, [])
  })

  test('a job that was cancelled meanwhile is reported as cancelled', async (t) => {
    const { cancelled, assignmentId } = await beatDuring(t, ({ pool, jobId }) => pool.cancel(jobId, 'cancelled'))

    assert.deepEqual(cancelled, [assignmentId])
  })
})

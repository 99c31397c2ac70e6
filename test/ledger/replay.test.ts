import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setupLedger } from '../support/ledger.ts'
import { dump, note, notes, UNKNOWN_JOB } from './dump.ts'

type World = Awaited<ReturnType<typeof setupLedger>>

async function deadJob({ ledger, submit }: World) {
  const jobId = await submit({ payload: { n: 7 }, priority: 8, maxAttempts: 2, accountId: 3, trace: { traceId: 'tr' } })
  await ledger.cancel({ jobId, reason: 'unwanted' })
  return jobId
}

async function replayed({ ledger }: World, jobId: string) {
  const answer = await ledger.replay(jobId)
  assert(answer.ok)
  return answer
}

describe('replay', () => {
  test('a dead job becomes a new, ready job that names it; the dead one stays as it was', async (t) => {
    const world = await setupLedger(t)
    const old = await deadJob(world)
    const before = await world.ledger.get(old)
    world.ready.length = 0

    const { jobId, duplicate } = await replayed(world, old)

    assert.equal(duplicate, false)
    const job = await world.ledger.get(jobId)
    assert.deepEqual(
      [job?.state, job?.attemptId, job?.payload, job?.priority, job?.maxAttempts, job?.accountId, job?.traceId],
      ['pending', 0, { n: 7 }, 8, 2, 3, 'tr'],
    )
    assert.equal(job?.replayOf, old)
    assert.deepEqual(await world.ledger.get(old), before)
    assert.deepEqual(world.ready, ['echo'])
  })

  test('asking twice names the same new job, and makes nothing ready', async (t) => {
    const world = await setupLedger(t)
    const old = await deadJob(world)
    const first = await replayed(world, old)
    const before = await dump(world.database)
    world.ready.length = 0

    const second = await replayed(world, old)

    assert.deepEqual(second, { ok: true, jobId: first.jobId, duplicate: true })
    assert.deepEqual(await dump(world.database), before)
    assert.deepEqual(world.ready, [])
  })

  test('a replay that died is replayed in its turn, and each names the one before it', async (t) => {
    const world = await setupLedger(t)
    const old = await deadJob(world)
    const second = (await replayed(world, old)).jobId
    await world.ledger.cancel({ jobId: second, reason: 'again' })

    const third = (await replayed(world, second)).jobId

    assert.equal((await world.ledger.get(third))?.replayOf, second)
    assert.deepEqual(await replayed(world, old), { ok: true, jobId: second, duplicate: true })
  })

  test('the door’s effects of a replay commit with the new job, once', async (t) => {
    const world = await setupLedger(t)
    const old = await deadJob(world)
    const seen: string[] = []

    const act = () =>
      world.ledger.replay(old, (job, newJobId) => {
        seen.push(job.jobId)
        return [note(newJobId)]
      })
    const first = await act()
    await act()

    assert(first.ok)
    assert.deepEqual(seen, [old])
    assert.deepEqual(await notes(world.database), [first.jobId])
  })

  test('it is refused for a job that is unknown, and for one that is not dead, and changes nothing', async (t) => {
    const world = await setupLedger(t)
    const pending = await world.submit()
    const held = await world.acquire(await world.submit())
    const done = await world.acquire(await world.submit())
    await world.ledger.finalize({ ...done, result: 1 })
    const before = await dump(world.database)

    const answers = []
    for (const jobId of [UNKNOWN_JOB, pending, held.jobId, done.jobId]) answers.push(await world.ledger.replay(jobId))

    assert.deepEqual(
      answers.map((answer) => (answer.ok ? 'ok' : answer.code)),
      ['unknown_job', 'not_dead', 'not_dead', 'not_dead'],
    )
    assert.deepEqual(await dump(world.database), before)
  })
})

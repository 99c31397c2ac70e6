// Many at once, with nothing to force their order: whatever it was, one has won.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Acquired } from '../../src/core/ledger/job.ts'
import type { Ledger } from '../../src/core/ledger/ledger.ts'
import type { Submitted } from '../../src/core/ledger/submit/submit.ts'
import { note, notes } from '../ledger/dump.ts'
import { contest, setupContest, untilBlocked, type World } from './contest.ts'

const EXPIRE_ONE = `
  update jobs set lease_until = clock_timestamp() - interval '1 ms' where job_id = $1 and state = 'processing'`

/** Turn by turn through the rivals, so that calls meet in the database and not only in one process's batches. */
function crowd<T>({ rivals }: World, size: number, act: (ledger: Ledger, n: number) => Promise<T>): Promise<T[]> {
  return Promise.all(
    Array.from({ length: size }, (_, n) => {
      const rival = rivals[n % rivals.length]
      assert(rival !== undefined)
      return act(rival, n)
    }),
  )
}

function count(answers: readonly { ok: boolean; code?: string }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const answer of answers) {
    const name = answer.ok ? 'ok' : (answer.code ?? '')
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

describe('fifty at once', () => {
  test('of 50 acquirers of one job, one wins and 49 get lease_still_valid', async (t) => {
    const world = await setupContest(t, 5)
    const jobId = await world.submit()

    const answers = await crowd(world, 50, (ledger, n) => ledger.acquire({ jobId, owner: `w${n}`, leaseMs: 60_000 }))

    assert.deepEqual(count(answers), { ok: 1, lease_still_valid: 49 })
    const winner = answers.find((answer) => answer.ok)
    const job = await world.ledger.get(jobId)
    assert(winner?.ok)
    assert.deepEqual([job?.attemptId, job?.leaseOwner], [1, winner.job.owner])
  })

  test('of 50 who would take over one abandoned job, one wins, and one attempt is added', async (t) => {
    const world = await setupContest(t, 5)
    const { jobId } = await world.acquire(await world.submit())
    await world.expireLease(jobId)

    const answers = await crowd(world, 50, (ledger, n) => ledger.acquire({ jobId, owner: `w${n}`, leaseMs: 60_000 }))

    assert.deepEqual(count(answers), { ok: 1, lease_still_valid: 49 })
    assert.equal((await world.ledger.get(jobId))?.attemptId, 2)
    assert.equal((await world.database.query('select from attempts')).length, 1)
  })

  test('of 50 finalizes of one attempt, one is recorded with its effects and 49 are already_finished', async (t) => {
    const world = await setupContest(t, 5)
    const held = await world.acquire(await world.submit())

    const answers = await crowd(world, 50, (ledger, n) =>
      ledger.finalize({ ...held, result: n, effects: [note(held.jobId, n % 2 === 0 ? 'note' : `note ${n}`)] }),
    )

    assert.deepEqual(count(answers), { ok: 1, already_finished: 49 })
    const winner = answers.findIndex((answer) => answer.ok)
    assert.equal((await world.ledger.get(held.jobId))?.result, winner)
    assert.equal((await world.database.query('select from outbox_events')).length, 1)
  })

  test('50 jobs and acquirers by id and by kind together: each job has exactly one holder', async (t) => {
    const world = await setupContest(t, 4)
    const answers = await world.ledger.submitMany(Array.from({ length: 50 }, (_, n) => ({ kind: 'echo', payload: n })))
    const ids = answers.flatMap((answer) => (answer.ok ? [answer.jobId] : []))

    const taken = await crowd(world, 200, async (ledger, n) => {
      const owner = `w${n}`
      if (n % 3 === 0)
        return (await ledger.acquireNextFrom(null, { kind: 'echo', limit: 3, owner, leaseMs: 60_000 })).jobs
      const answer = await ledger.acquire({ jobId: ids[n % 50] ?? '', owner, leaseMs: 60_000 })
      return answer.ok ? [answer.job] : []
    })

    const holders = taken.flat()
    assert.deepEqual(holders.map((job) => job.jobId).toSorted(), ids.toSorted())
    for (const { jobId, owner } of holders) assert.equal((await world.ledger.get(jobId))?.leaseOwner, owner)
  })
})

describe('idempotent submits at once', () => {
  const submit = (ledger: Ledger, bodyHash: string) =>
    ledger.submit({ kind: 'echo', payload: bodyHash, idempotency: { scope: 's', key: 'k', bodyHash } })

  test('100 with the same key and body are one job, and one of them is the first', async (t) => {
    const world = await setupContest(t, 4)

    const answers = await crowd(world, 100, (ledger) => submit(ledger, 'b'))

    const ids = new Set(answers.map((answer) => (answer.ok ? answer.jobId : answer.code)))
    assert.equal(ids.size, 1)
    assert.equal(answers.filter((answer) => answer.ok && !answer.duplicate).length, 1)
    assert.equal((await world.database.query('select from jobs')).length, 1)
  })

  test('100 with one key and two bodies: one body has won, and every other is a conflict', async (t) => {
    const world = await setupContest(t, 4)

    const answers = await crowd(world, 100, (ledger, n) => submit(ledger, n < 50 ? 'b1' : 'b2'))

    assert.deepEqual(count(answers), { ok: 50, idempotency_conflict: 50 })
    assert.equal((await world.database.query('select from jobs')).length, 1)
  })

  for (const ending of ['commit', 'rollback'] as const) {
    test(`one that waits for an uncommitted submit is a duplicate only if that commits: ${ending}`, async (t) => {
      const world = await setupContest(t, 1)
      const [rival] = world.rivals
      assert(rival !== undefined)
      const waiting: Promise<Submitted>[] = []
      const idempotency = { scope: 's', key: 'k', bodyHash: 'b' }

      const open = world.database.transaction(async (tx) => {
        const [first] = await world.ledger.submitIn(tx, [{ kind: 'echo', payload: 1, idempotency }])
        waiting.push(submit(rival, 'b'))
        await untilBlocked(world.database, 1)
        if (ending === 'rollback') throw new Error('rollback')
        return first
      })
      const [first] = await Promise.allSettled([open])
      const [second] = await Promise.all(waiting)

      assert(second?.ok)
      assert.equal(second.duplicate, ending === 'commit')
      assert.equal(first.status, ending === 'commit' ? 'fulfilled' : 'rejected')
      assert.equal((await world.database.query('select from jobs')).length, 1)
    })
  }
})

test('replays of one dead job by 20 at once are one new job', async (t) => {
  const world = await setupContest(t, 4)
  const jobId = await world.submit()
  await world.ledger.cancel({ jobId, reason: 'x' })

  const answers = await crowd(world, 20, (ledger) => ledger.replay(jobId))

  assert.equal(new Set(answers.map((answer) => (answer.ok ? answer.jobId : answer.code))).size, 1)
  assert.equal(answers.filter((answer) => answer.ok && !answer.duplicate).length, 1)
})

test('a batch that waits for one row still answers for all of its rows', async (t) => {
  const world = await setupContest(t, 1)
  const held = await Promise.all(Array.from({ length: 5 }, async () => world.acquire(await world.submit())))
  const locked = held[2]
  assert(locked !== undefined)

  const [answers] = await contest(world, {
    jobId: locked.jobId,
    contenders: [(ledger) => Promise.all(held.map((job) => ledger.finalize({ ...job, result: 1 })))],
    meanwhile: `update jobs set lease_owner = 'thief' where job_id = '${locked.jobId}'`,
  })

  const refusal = { ok: false, code: 'lease_lost_or_owner_mismatch' }
  assert.deepEqual(
    answers,
    held.map((job) => (job === locked ? refusal : { ok: true })),
  )
})

test('under a storm of everything, attempts rise by one and every job ends once', async (t) => {
  const world = await setupContest(t, 3)
  const submitted = await world.ledger.submitMany(
    Array.from({ length: 30 }, (_, n) => ({ kind: 'echo', payload: n, maxAttempts: null })),
  )
  const ids = submitted.flatMap((answer) => (answer.ok ? [answer.jobId] : []))
  const acquired: Acquired[] = []
  const recorded: string[] = []

  await crowd(world, 24, (ledger, n) => storm(world, ledger, { ids, seed: n + 1, acquired, recorded }))
  for (const jobId of ids) {
    const answer = await world.ledger.acquire({ jobId, owner: 'last', leaseMs: 60_000 })
    if (!answer.ok) continue
    acquired.push(answer.job)
    if ((await world.ledger.finalize({ ...answer.job, result: 1, effects: [note(jobId)] })).ok) recorded.push(jobId)
  }

  const names = acquired.map((job) => `${job.jobId} ${job.attemptId}`)
  assert.equal(new Set(names).size, names.length, 'an attempt was given twice')
  for (const jobId of ids) {
    const job = await world.ledger.get(jobId)
    assert.equal(acquired.filter((one) => one.jobId === jobId).length, job?.attemptId, 'an attempt that nobody has')
    assert.equal(recorded.filter((one) => one === jobId).length, job?.state === 'done' ? 1 : 0)
  }
  assert.deepEqual((await notes(world.database)).toSorted(), recorded.toSorted())
})

interface Storm {
  ids: readonly string[]
  seed: number
  acquired: Acquired[]
  recorded: string[]
}

/** One worker that takes a random job, loses a random lease, and does a random thing with what it holds. */
async function storm(world: World, ledger: Ledger, { ids, seed, acquired, recorded }: Storm): Promise<void> {
  const random = generator(seed)
  for (let step = 0; step < 40; step += 1) {
    const jobId = ids[random(ids.length)] ?? ''
    if (random(4) === 0) await world.database.query(EXPIRE_ONE, [jobId])
    const answer = await ledger.acquire({ jobId, owner: `w${seed}`, leaseMs: 60_000 })
    if (!answer.ok) continue
    acquired.push(answer.job)
    const held = answer.job
    const choice = random(8)
    if (choice < 3) await ledger.release(held)
    else if (choice < 5) await ledger.fail({ ...held, error: 'x', retryMs: 0 })
    else if (choice < 6) await ledger.renew({ ...held, leaseMs: 60_000 })
    else if (choice < 7 && random(8) === 0) await ledger.cancel({ jobId, reason: 'x' })
    else if ((await ledger.finalize({ ...held, result: 1, effects: [note(jobId)] })).ok) recorded.push(jobId)
  }
}

/** Small numbers from a seed, so that a failure can be repeated. */
function generator(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0
    return state % below
  }
}

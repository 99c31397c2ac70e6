import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setupLedger } from '../support/ledger.ts'
import { dump, note, notes, UNKNOWN_JOB } from './dump.ts'

type World = Awaited<ReturnType<typeof setupLedger>>

const finished = async ({ ledger, submit, acquire }: World) => {
  const held = await acquire(await submit())
  await ledger.finalize({ ...held, result: 1 })
  return held.jobId
}
const cancelled = async ({ ledger, submit }: World) => {
  const jobId = await submit()
  await ledger.cancel({ jobId, reason: 'first' })
  return jobId
}
const held = async ({ submit, acquire }: World) => (await acquire(await submit())).jobId
const abandoned = async (world: World) => {
  const jobId = await held(world)
  await world.expireLease(jobId)
  return jobId
}

const ENDS = { pending: ({ submit }: World) => submit(), delayed: ({ submit }: World) => submit({ delayMs: 60_000 }) }
const MOVES = {
  cancel: { ...ENDS, held, abandoned },
  bury: { ...ENDS, abandoned },
} as const

for (const move of ['cancel', 'bury'] as const) {
  describe(move, () => {
    for (const [name, arrange] of Object.entries(MOVES[move])) {
      test(`a job that is ${name} dies with its reason and its effects`, async (t) => {
        const world = await setupLedger(t)
        const jobId = await arrange(world)

        const answer = await world.ledger[move]({ jobId, reason: 'why', effects: [note(jobId)] })

        assert.deepEqual(answer, { ok: true })
        const job = await world.ledger.get(jobId)
        assert.deepEqual(
          [job?.state, job?.reason, job?.dueAt, job?.leaseUntil, job?.result],
          ['dead', 'why', null, null, null],
        )
        assert(job?.finishedAt instanceof Date)
        assert.deepEqual(await notes(world.database), [jobId])
      })
    }

    for (const [name, arrange] of Object.entries({ done: finished, dead: cancelled })) {
      test(`a job that is ${name} is already_finished, and nothing changes`, async (t) => {
        const world = await setupLedger(t)
        const jobId = await arrange(world)
        const before = await dump(world.database)

        const answer = await world.ledger[move]({ jobId, reason: 'why', effects: [note(jobId)] })

        assert.deepEqual(answer, { ok: false, code: 'already_finished' })
        assert.deepEqual(await dump(world.database), before)
      })
    }

    test('a job that does not exist is unknown_job', async (t) => {
      const { ledger, database } = await setupLedger(t)

      const answer = await ledger[move]({ jobId: UNKNOWN_JOB, reason: 'why', effects: [note(UNKNOWN_JOB)] })

      assert.deepEqual(answer, { ok: false, code: 'unknown_job' })
      assert.deepEqual(await notes(database), [])
    })
  })
}

describe('a live lease', () => {
  test('prevents bury, even on the last attempt', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const { jobId } = await acquire(await submit({ maxAttempts: 1 }))
    const before = await dump(database)

    const answer = await ledger.bury({ jobId, reason: 'why', effects: [note(jobId)] })

    assert.deepEqual(answer, { ok: false, code: 'lease_still_valid' })
    assert.deepEqual(await dump(database), before)
  })

  test('ends with a cancel, and no attempt is said to have failed', async (t) => {
    const world = await setupLedger(t)
    const jobId = await held(world)

    await world.ledger.cancel({ jobId, reason: 'unwanted' })

    assert.deepEqual(await world.database.query('select from attempts'), [])
  })
})

test('a buried or cancelled job keeps its abandoned attempt as expired', async (t) => {
  const world = await setupLedger(t)
  const buried = await abandoned(world)
  const cancelledJob = await abandoned(world)

  await world.ledger.bury({ jobId: buried, reason: 'why' })
  await world.ledger.cancel({ jobId: cancelledJob, reason: 'why' })

  const attempts = await world.database.query('select job_id, attempt_id, outcome from attempts order by job_id')
  assert.deepEqual(
    attempts,
    [buried, cancelledJob].toSorted().map((job_id) => ({ job_id, attempt_id: 1, outcome: 'lease_expired' })),
  )
})

test('a reason that a database cannot hold is shortened and cleaned, not refused', async (t) => {
  const { ledger, submit } = await setupLedger(t)
  const jobId = await submit()

  const answer = await ledger.cancel({ jobId, reason: `a\0b${'x'.repeat(3996)}😀` })

  assert.deepEqual(answer, { ok: true })
  assert.equal((await ledger.get(jobId))?.reason, `ab${'x'.repeat(3996)}\ufffd`)
})

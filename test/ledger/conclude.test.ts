import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setupLedger } from '../support/ledger.ts'
import { dump, note, notes, UNKNOWN_JOB } from './dump.ts'

describe('conclude', () => {
  test('a pending job is done after one attempt, with its result and effects', async (t) => {
    const { ledger, database, submit } = await setupLedger(t)
    const jobId = await submit()

    const answer = await ledger.conclude({ jobId, owner: 'others', result: 'agreed', effects: [note(jobId)] })

    assert.deepEqual(answer, { ok: true })
    const job = await ledger.get(jobId)
    assert.deepEqual([job?.state, job?.result, job?.attemptId, job?.lastOwner], ['done', 'agreed', 1, 'others'])
    assert.deepEqual(await notes(database), [jobId])
  })

  test('a job that is held, has ended or is unknown is refused, and nothing changes', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const { jobId: held } = await acquire(await submit())
    const dead = await submit()
    await ledger.cancel({ jobId: dead, reason: 'test' })
    const before = await dump(database)

    const answers = await Promise.all(
      [held, dead, UNKNOWN_JOB].map((jobId) =>
        ledger.conclude({ jobId, owner: 'others', result: 1, effects: [note(jobId)] }),
      ),
    )

    const codes = answers.map((answer) => (answer.ok ? 'ok' : answer.code))
    assert.deepEqual(codes, ['lease_still_valid', 'already_finished', 'unknown_job'])
    assert.deepEqual(await dump(database), before)
  })

  test('of many calls at once for one job, one is applied, and its neighbours too', async (t) => {
    const { ledger, database, submit } = await setupLedger(t)
    const [contested, other] = [await submit(), await submit()]

    const answers = await Promise.all(
      [contested, contested, contested, other].map((jobId, n) =>
        ledger.conclude({ jobId, owner: `process ${n}`, result: n, effects: [note(jobId)] }),
      ),
    )

    assert.equal(answers.filter(({ ok }) => ok).length, 2)
    assert.deepEqual((await notes(database)).toSorted(), [contested, other].toSorted())
  })

  test('who waits for its end is told', async (t) => {
    const { ledger, submit } = await setupLedger(t)
    const jobId = await submit()
    const ended = ledger.awaitEnd(jobId, { timeoutMs: 60_000 })

    await ledger.conclude({ jobId, owner: 'others', result: 'agreed' })

    assert.equal((await ended)?.result, 'agreed')
  })
})

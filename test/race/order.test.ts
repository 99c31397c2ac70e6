// Two contenders for one row, in each order: the first is served, and the second is told the true reason.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Acquired, Held } from '../../src/core/ledger/job.ts'
import type { NewJob } from '../../src/core/ledger/submit/submit.ts'
import { until } from '../support/until.ts'
import { contest, EXPIRE, EXPIRE_SOON, setupContest, type Contender } from './contest.ts'

const acquire =
  (jobId: string, owner: string): Contender =>
  (ledger) =>
    ledger.acquire({ jobId, owner, leaseMs: 60_000 })
const renew =
  (held: Held): Contender =>
  (ledger) =>
    ledger.renew({ ...held, leaseMs: 60_000 })
const finalize =
  (held: Held): Contender =>
  (ledger) =>
    ledger.finalize({ ...held, result: held.owner })
const retry =
  (held: Held): Contender =>
  (ledger) =>
    ledger.fail({ ...held, error: 'x', retryMs: 0 })
const giveUp =
  (held: Held): Contender =>
  (ledger) =>
    ledger.fail({ ...held, error: 'x', retryMs: null })
const release =
  (held: Held): Contender =>
  (ledger) =>
    ledger.release(held)
const cancel =
  ({ jobId }: Held): Contender =>
  (ledger) =>
    ledger.cancel({ jobId, reason: 'x' })
const bury =
  ({ jobId }: Held): Contender =>
  (ledger) =>
    ledger.bury({ jobId, reason: 'x' })
const takeOver = ({ jobId }: Held): Contender => acquire(jobId, 'w2')

interface Race {
  name: string
  order: readonly ((held: Acquired) => Contender)[]
  /** What each is told: ok, a number of attempt, or the refusal. */
  told: readonly string[]
  state: string
  job?: Partial<NewJob>
  /** The lease runs out while they wait, or has run out before. */
  lease?: 'expires' | 'expired'
}

const RACES: readonly Race[] = [
  {
    name: 'finalize before a take-over: the job is finished, not leased',
    order: [finalize, takeOver],
    told: ['ok', 'already_finished'],
    state: 'done 1 w1',
  },
  {
    name: 'a take-over before finalize, which had still seen its own lease',
    order: [takeOver, finalize],
    told: ['attempt 2', 'stale_attempt'],
    state: 'processing 2 w2',
    lease: 'expires',
  },
  {
    name: 'a take-over before finalize, which had seen its lease run out',
    order: [takeOver, finalize],
    told: ['attempt 2', 'stale_attempt'],
    state: 'processing 2 w2',
    lease: 'expired',
  },
  {
    name: 'finalize against the end of its own lease',
    order: [finalize],
    told: ['lease_lost_or_owner_mismatch'],
    state: 'processing 1 w1',
    lease: 'expires',
  },
  {
    name: 'finalize before finalize',
    order: [finalize, finalize],
    told: ['ok', 'already_finished'],
    state: 'done 1 w1',
  },
  {
    name: 'finalize before another owner’s finalize',
    order: [finalize, (held) => finalize({ ...held, owner: 'thief' })],
    told: ['ok', 'already_finished'],
    state: 'done 1 w1',
  },
  { name: 'finalize before cancel', order: [finalize, cancel], told: ['ok', 'already_finished'], state: 'done 1 w1' },
  { name: 'cancel before finalize', order: [cancel, finalize], told: ['ok', 'already_finished'], state: 'dead 1 w1' },
  {
    name: 'finalize before a failure',
    order: [finalize, giveUp],
    told: ['ok', 'already_finished'],
    state: 'done 1 w1',
  },
  {
    name: 'a final failure before finalize',
    order: [giveUp, finalize],
    told: ['ok', 'already_finished'],
    state: 'dead 1 w1',
  },
  {
    name: 'a failure to be retried before finalize',
    order: [retry, finalize],
    told: ['ok', 'not_in_expected_state'],
    state: 'pending 1 w1',
  },
  {
    name: 'release before finalize',
    order: [release, finalize],
    told: ['ok', 'not_in_expected_state'],
    state: 'pending 1 w1',
  },
  { name: 'finalize before release', order: [finalize, release], told: ['ok', 'already_finished'], state: 'done 1 w1' },
  { name: 'finalize before renew', order: [finalize, renew], told: ['ok', 'already_finished'], state: 'done 1 w1' },
  {
    name: 'release, then a take-over, then the first holder’s finalize',
    order: [release, takeOver, finalize],
    told: ['ok', 'attempt 2', 'stale_attempt'],
    state: 'processing 2 w2',
  },
  {
    name: 'renew before a take-over',
    order: [renew, takeOver],
    told: ['ok', 'lease_still_valid'],
    state: 'processing 1 w1',
  },
  {
    name: 'renew against the end of its own lease',
    order: [renew],
    told: ['lease_lost_or_owner_mismatch'],
    state: 'processing 1 w1',
    lease: 'expires',
  },
  {
    name: 'a take-over before renew',
    order: [takeOver, renew],
    told: ['attempt 2', 'stale_attempt'],
    state: 'processing 2 w2',
    lease: 'expires',
  },
  {
    name: 'a take-over before another',
    order: [takeOver, ({ jobId }) => acquire(jobId, 'w3')],
    told: ['attempt 2', 'lease_still_valid'],
    state: 'processing 2 w2',
    lease: 'expired',
  },
  {
    name: 'a take-over before bury',
    order: [takeOver, bury],
    told: ['attempt 2', 'lease_still_valid'],
    state: 'processing 2 w2',
    lease: 'expired',
  },
  {
    name: 'bury before a take-over',
    order: [bury, takeOver],
    told: ['ok', 'already_finished'],
    state: 'dead 1 w1',
    lease: 'expired',
  },
  { name: 'renew before bury', order: [renew, bury], told: ['ok', 'lease_still_valid'], state: 'processing 1 w1' },
  {
    name: 'bury before renew',
    order: [bury, renew],
    told: ['ok', 'already_finished'],
    state: 'dead 1 w1',
    lease: 'expires',
  },
  { name: 'cancel before renew', order: [cancel, renew], told: ['ok', 'already_finished'], state: 'dead 1 w1' },
  { name: 'cancel before cancel', order: [cancel, cancel], told: ['ok', 'already_finished'], state: 'dead 1 w1' },
  {
    name: 'a take-over of the last attempt, which nobody may take over',
    order: [takeOver, bury],
    told: ['exhausted', 'ok'],
    state: 'dead 1 w1',
    job: { maxAttempts: 1 },
    lease: 'expired',
  },
]

describe('two contenders for one row', () => {
  for (const { name, order, told, state, job = {}, lease } of RACES) {
    test(name, async (t) => {
      const world = await setupContest(t, order.length)
      const held = await world.acquire(await world.submit(job), 'w1')
      if (lease === 'expired') await world.expireLease(held.jobId)
      const isAlone = order.length === 1
      if (lease === 'expires' && !isAlone) await world.database.query(EXPIRE_SOON)
      const leaseIsOver = () =>
        until('the lease is over', async () => {
          const over = await world.database.query('select from jobs where lease_until <= clock_timestamp()')
          return over.length === 1
        })

      const answers = await contest(world, {
        jobId: held.jobId,
        contenders: order.map((contender) => contender(held)),
        meanwhile: lease === 'expires' && isAlone ? EXPIRE : undefined,
        waitFor: lease === 'expires' && !isAlone ? leaseIsOver : undefined,
      })

      assert.deepEqual(answers.map(brief), told)
      const after = await world.ledger.get(held.jobId)
      assert.equal([after?.state, after?.attemptId, after?.lastOwner].join(' '), state)
      assert.equal(after?.result ?? null, after?.state === 'done' ? 'w1' : null)
    })
  }
})

describe('two contenders for a job that is not held', () => {
  test('the first acquire gets it, and the second gets lease_still_valid', async (t) => {
    const world = await setupContest(t, 2)
    const jobId = await world.submit()

    const answers = await contest(world, { jobId, contenders: [acquire(jobId, 'w1'), acquire(jobId, 'w2')] })

    assert.deepEqual(answers.map(brief), ['attempt 1', 'lease_still_valid'])
  })

  test('a cancel before an acquire leaves nothing to acquire', async (t) => {
    const world = await setupContest(t, 2)
    const held = { jobId: await world.submit(), attemptId: 1, owner: 'w1' }

    const answers = await contest(world, { jobId: held.jobId, contenders: [cancel(held), acquire(held.jobId, 'w1')] })

    assert.deepEqual(answers.map(brief), ['ok', 'already_finished'])
  })

  test('an acquire before a cancel is cancelled under its holder', async (t) => {
    const world = await setupContest(t, 3)
    const held = { jobId: await world.submit(), attemptId: 1, owner: 'w1' }

    const answers = await contest(world, {
      jobId: held.jobId,
      contenders: [acquire(held.jobId, 'w1'), cancel(held)],
    })

    assert.deepEqual(answers.map(brief), ['attempt 1', 'ok'])
    assert.deepEqual(await world.ledger.finalize({ ...held, result: 1 }), { ok: false, code: 'already_finished' })
  })

  test('acquire next passes by the row that somebody is acquiring, and does not wait for it', async (t) => {
    const world = await setupContest(t, 2)
    const jobId = await world.submit()
    const next: Contender = async (ledger) =>
      (await ledger.acquireNextFrom(null, { kind: 'echo', limit: 5, owner: 'w2', leaseMs: 1000 })).jobs
    const nextWhileLocked: unknown[] = []
    const first: Contender = async (ledger) => {
      const [, rival] = world.rivals
      if (rival !== undefined) nextWhileLocked.push(await next(rival))
      return acquire(jobId, 'w1')(ledger)
    }

    const answers = await contest(world, { jobId, contenders: [first] })

    assert.deepEqual(nextWhileLocked, [[]])
    assert.deepEqual(answers.map(brief), ['attempt 1'])
    assert.deepEqual(await next(world.ledger), [])
  })

  test('two replays at once name the same new job', async (t) => {
    const world = await setupContest(t, 2)
    const jobId = await world.submit()
    await world.ledger.cancel({ jobId, reason: 'x' })

    const replay: Contender = (ledger) => ledger.replay(jobId)
    const [first, second] = await contest(world, { jobId, contenders: [replay, replay] })

    const [row] = await world.database.query('select job_id from jobs where replay_of = $1', [jobId])
    assert.deepEqual(first, { ok: true, jobId: row?.['job_id'], duplicate: false })
    assert.deepEqual(second, { ok: true, jobId: row?.['job_id'], duplicate: true })
  })
})

function brief(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return String(answer)
  if ('code' in answer) return String(answer.code)
  if ('job' in answer && typeof answer.job === 'object' && answer.job !== null && 'attemptId' in answer.job) {
    return `attempt ${String(answer.job.attemptId)}`
  }
  return 'ok'
}

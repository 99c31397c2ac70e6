// Random walks through the ledger, against a model of it. Several owners, right and wrong attempts, expired leases.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Held } from '../../src/core/ledger/job.ts'
import { UNKNOWN_JOB } from '../ledger/dump.ts'
import { setupLedger } from '../support/ledger.ts'
import { isEnded, line, Model, type ModelJob } from './model.ts'
import { cases } from '../support/size.ts'

const RUNS = cases(25)
const COMMANDS_MAX = 60
const JOBS_MAX = 6
const HOUR_SEC = 3600
const LEASE_MS = 3_600_000

type World = Awaited<ReturnType<typeof setupLedger>>
type Real = World & { ended: Map<string, string> }

const EMPTY = 'truncate jobs, attempts, outbox_events, idempotency_keys cascade'
const ROWS = `
  select job_id, state, attempt_id, releases, lease_owner, coalesce(lease_until > clock_timestamp(), false) as leased,
         case when due_at is null then 'now' when due_at <= clock_timestamp() then 'past' else 'future' end as due,
         result, reason, replay_of, row_to_json(jobs)::text as whole
    from jobs order by submitted_at`

/** Everything that must hold after each step. */
async function compare({ jobs }: Model, { ledger, database, ended }: Real): Promise<void> {
  const rows = await database.query<{ whole: string }>(ROWS)
  const wholes = rows.map((row) => row.whole)
  assert.deepEqual(
    rows,
    jobs.map((job, index) => ({
      job_id: job.jobId,
      state: job.state,
      attempt_id: job.attemptId,
      releases: job.releases,
      lease_owner: job.owner,
      leased: job.leased,
      due: job.due,
      result: job.result,
      reason: job.reason,
      replay_of: job.replayOf,
      whole: wholes[index],
    })),
  )
  for (const [index, { jobId, history, ...job }] of jobs.entries()) {
    const whole = wholes[index] ?? ''
    assert.equal(whole, ended.get(jobId) ?? whole, 'a finished job has changed')
    if (isEnded({ jobId, history, ...job })) ended.set(jobId, whole)

    const real = await ledger.get(jobId)
    assert(real !== null)
    const entries = await ledger.history(real)
    assert.deepEqual(
      entries.map((entry) => line(entry.what, entry.attemptId, entry.owner, entry.detail)),
      history,
    )
  }
}

type Step = (model: Model, real: Real) => Promise<void>

const command = (name: string, step: Step): fc.AsyncCommand<Model, Real> => ({
  check: () => true,
  async run(model, real) {
    await step(model, real)
    await compare(model, real)
  },
  toString: () => name,
})

/** A command with random arguments that knows how to print itself. */
const commandOf = <T>(name: string, args: fc.Arbitrary<T>, step: (args: T) => Step) =>
  args.map((value) => command(`${name} ${JSON.stringify(value)}`, step(value)))

const owner = fc.constantFrom('w1', 'w2', 'w3')
const which = fc.nat({ max: JOBS_MAX - 1 })
const claim = fc.record({
  which,
  // Mostly the truth, so that walks get far.
  attempt: fc.oneof({ arbitrary: fc.constant(0), weight: 6 }, fc.constantFrom(-1, 1)),
  owner: fc.option(owner, { freq: 4 }),
})

const jobAt = ({ jobs }: Model, index: number): ModelJob | undefined => jobs[index]

/** What somebody believes to hold. */
function heldBy(job: ModelJob | undefined, { attempt, owner }: { attempt: number; owner: string | null }): Held {
  return {
    jobId: job?.jobId ?? UNKNOWN_JOB,
    attemptId: (job?.attemptId ?? 0) + attempt,
    owner: owner ?? job?.owner ?? 'w1',
  }
}

const brief = (answer: { ok: true } | { ok: false; code: string }): string => (answer.ok ? 'ok' : answer.code)

const submit = commandOf(
  'submit',
  fc.record({
    priority: fc.constantFrom(4, 5, 6),
    maxAttempts: fc.constantFrom(1, 2, 3, null),
    delaySec: fc.constantFrom(0, 0, HOUR_SEC),
  }),
  ({ delaySec, ...job }) =>
    async (model, real) => {
      if (model.jobs.length >= JOBS_MAX) return
      const jobId = await real.submit({ ...job, delayMs: delaySec * 1000 })
      model.submit({ ...job, jobId, replayOf: null }, delaySec)
    },
)

const acquire = commandOf('acquire', fc.record({ which, owner }), ({ which, owner }) => async (model, { ledger }) => {
  const job = jobAt(model, which)
  const answer = await ledger.acquire({ jobId: job?.jobId ?? UNKNOWN_JOB, owner, leaseMs: LEASE_MS })
  assert.equal(answer.ok ? `attempt ${answer.job.attemptId}` : answer.code, model.acquire(job, owner))
})

const acquireNext = commandOf('acquireNext', owner, (owner) => async (model, { ledger }) => {
  const next = model.next()
  if (next !== undefined) model.acquire(next, owner)
  const taken = (await ledger.acquireNextFrom(null, { kind: 'echo', limit: 1, owner, leaseMs: LEASE_MS })).jobs
  assert.deepEqual(
    taken.map((job) => [job.jobId, job.attemptId]),
    next === undefined ? [] : [[next.jobId, next.attemptId]],
  )
})

const renew = commandOf('renew', claim, (claim) => async (model, { ledger }) => {
  const job = jobAt(model, claim.which)
  const held = heldBy(job, claim)
  assert.equal(brief(await ledger.renew({ ...held, leaseMs: LEASE_MS })), model.renew(job, held))
})

const finalize = commandOf('finalize', fc.tuple(claim, fc.nat()), ([claim, result]) => async (model, { ledger }) => {
  const job = jobAt(model, claim.which)
  const held = heldBy(job, claim)
  assert.equal(brief(await ledger.finalize({ ...held, result })), model.finalize(job, held, result))
})

const fail = commandOf(
  'fail',
  fc.tuple(claim, fc.constantFrom(0, 0, HOUR_SEC, null)),
  ([claim, retrySec]) =>
    async (model, { ledger }) => {
      const job = jobAt(model, claim.which)
      const held = heldBy(job, claim)
      const retryMs = retrySec === null ? null : retrySec * 1000
      const answer = await ledger.fail({ ...held, error: 'error', retryMs })
      assert.equal(answer.ok && answer.dead ? 'dead' : brief(answer), model.fail(job, held, retrySec))
    },
)

const release = commandOf('release', claim, (claim) => async (model, { ledger }) => {
  const job = jobAt(model, claim.which)
  const held = heldBy(job, claim)
  assert.equal(brief(await ledger.release(held)), model.release(job, held))
})

const end = commandOf(
  'end',
  fc.record({ which, move: fc.constantFrom('cancel', 'bury') }),
  ({ which, move }) =>
    async (model, { ledger }) => {
      const job = jobAt(model, which)
      const answer = await ledger[move]({ jobId: job?.jobId ?? UNKNOWN_JOB, reason: move })
      assert.equal(brief(answer), model.end(job, move))
    },
)

const expire = commandOf('expire', which, (which) => async (model, { expireLease }) => {
  const job = jobAt(model, which)
  if (job?.state !== 'processing') return
  await expireLease(job.jobId)
  job.leased = false
})

const comeDue = commandOf('comeDue', which, (which) => async (model, { database }) => {
  const job = jobAt(model, which)
  if (job?.due !== 'future') return
  await database.query(`update jobs set due_at = clock_timestamp() where job_id = $1`, [job.jobId])
  job.due = 'past'
})

const promote = command('promoteDue', async ({ jobs }, { ledger }) => {
  const due = jobs.filter((job) => job.due === 'past')
  const promoted = await ledger.promoteDue(100)
  assert.deepEqual(promoted.map((job) => job.jobId).toSorted(), due.map((job) => job.jobId).toSorted())
  for (const job of due) job.due = 'now'
})

const replay = commandOf('replay', which, (which) => async (model, { ledger }) => {
  const old = jobAt(model, which)
  const known = model.jobs.find((job) => old !== undefined && job.replayOf === old.jobId)
  const answer = await ledger.replay(old?.jobId ?? UNKNOWN_JOB)

  if (old === undefined) return assert.deepEqual(answer, { ok: false, code: 'unknown_job' })
  if (old.state !== 'dead') return assert.deepEqual(answer, { ok: false, code: 'not_dead' })
  assert(answer.ok)
  if (known !== undefined) return assert.deepEqual(answer, { ok: true, jobId: known.jobId, duplicate: true })
  assert.equal(answer.duplicate, false)
  const { jobId } = answer
  return model.submit({ jobId, priority: old.priority, maxAttempts: old.maxAttempts, replayOf: old.jobId }, 0)
})

const commands = fc.commands(
  [submit, submit, acquire, acquire, acquireNext, renew, finalize, fail, release, end, expire, expire, comeDue].concat([
    fc.constant(promote),
    replay,
  ]),
  { maxCommands: COMMANDS_MAX, size: 'max' },
)

test('whatever is done in whatever order, the ledger answers as its model does', async (t) => {
  const world = await setupLedger(t)

  await fc.assert(
    fc.asyncProperty(commands, async (walk) => {
      await world.database.query(EMPTY)

      await fc.asyncModelRun(() => ({ model: new Model(), real: { ...world, ended: new Map() } }), walk)
    }),
    { numRuns: RUNS },
  )
})

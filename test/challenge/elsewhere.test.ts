// captcha and code problems are solved by other doors. The other door is a fake; the ledger is real.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test, type TestContext } from 'node:test'
import { pino } from 'pino'
import { Capabilities, type Capability, type WorkRequest } from '../../src/core/capabilities.ts'
import { newJobId } from '../../src/core/random.ts'
import { openThreads } from '../../src/doors/challenge/bounded/threads.ts'
import { systemClock } from '../../src/core/clock.ts'
import { openDeliveries } from '../../src/core/deliveries/deliveries.ts'
import { openOutbox } from '../../src/core/outbox/outbox.ts'
import { CALLBACK_TOPIC } from '../../src/doors/challenge/deliveries/topics.ts'
import { noPlugins } from '../../src/doors/challenge/problems/plugins.ts'
import { solveKind } from '../../src/doors/challenge/solver/solve-kind.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { setupExecutor } from '../executor/setup.ts'
import { atEnd } from '../support/cleanup.ts'

const INSERT_REQUEST = `
  insert into solve_requests (challenge_id, job_id, callback_url)
  select challenge_id, job_id, 'https://a.example/' from json_to_recordset($1) as r (challenge_id text, job_id uuid)`

const DAY_MS = 86_400_000

async function setup(t: TestContext, options: { offered?: boolean; refuses?: boolean } = {}) {
  const world = await setupExecutor(t, migrationFolders().slice(1))
  const { ledger, database, said } = world
  const threads = openThreads()
  atEnd(t, () => threads.close())
  const asked: WorkRequest[] = []
  const withdrawn: string[] = []
  const desk: Capability = {
    async begin(request) {
      asked.push(request)
      if (options.refuses === true) return { ok: false, code: 'INVALID_PROBLEM', message: 'A captcha needs a url.' }
      const idempotency = { scope: 'desk offer', key: request.key, bodyHash: '' }
      const made = await ledger.submit({ kind: 'task', payload: request.body, idempotency, maxAttempts: null })
      assert(made.ok)
      return { ok: true, jobId: made.jobId }
    },
    outcomeOf: async (job) =>
      job.state === 'done'
        ? { ok: true, answer: String(job.result), metadata: { verdict: 'AC' } }
        : { ok: false, code: 'UNSOLVABLE', message: `The operator gave up: ${job.reason}` },
    withdraw: async (jobId) => void withdrawn.push(jobId),
  }
  const capabilities = new Capabilities()
  if (options.offered !== false) capabilities.provide('captcha', desk)
  const outbox = openOutbox(database, () => {})
  const outbound = { request: () => assert.fail('nothing is sent here') }
  const deliveries = openDeliveries({
    database,
    outbox,
    outbound,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    slowRetries: 0,
    ledger: () => ledger,
  })
  const kind = solveKind({
    deliveries,
    database,
    ledger,
    capabilities,
    threads,
    plugins: noPlugins,
    pluginMsMax: 1,
    waitMsMax: DAY_MS,
  })
  const { run, contextOf } = kind
  assert(run !== undefined && contextOf !== undefined)
  const start = () => world.start(run, { kind, slots: 1 })

  const solve = async (more: object = {}) => {
    const jobId = newJobId()
    const problem = { type: 'captcha', url: 'https://shop.example/', question: 'Which are bridges?' }
    const payload = {
      challenge_id: 'c1',
      problem,
      output_spec: null,
      constraints: {},
      callback_url: 'https://a.example/',
      ...more,
    }
    const effects = [{ sql: INSERT_REQUEST, row: { challenge_id: 'c1', job_id: jobId } }]
    return world.submit({ kind: 'solve', jobId, payload, effects })
  }
  const callback = async () => {
    const [row] = await database.query<{ payload: { body: string } }>(
      'select payload from outbox_events where topic = $1',
      [CALLBACK_TOPIC],
    )
    return row === undefined ? null : JSON.parse(row.payload.body)
  }
  const tasks = async () => (await ledger.search({ kind: 'task' }, 10)).jobs.map(({ jobId }) => jobId)
  return {
    ...world,
    run,
    contextOf,
    start,
    solve,
    callback,
    asked,
    withdrawn,
    tasks,
    acknowledged: () => once(said, 'acknowledged'),
  }
}

describe('challenge: a captcha or code problem', () => {
  test('becomes a job of the other door, whose outcome is the answer', async (t) => {
    const { start, solve, callback, tasks, acquire, ledger, acknowledged, asked, contextOf } = await setup(t)
    const waiting = acknowledged()
    const jobId = await solve()
    start()
    await waiting
    const none = await callback()
    const done = acknowledged()
    const [task = ''] = await tasks()
    const waits = await contextOf(await ledger.briefs([jobId]))
    await ledger.finalize({ ...(await acquire(task, 'ann')), result: '3 and 7' })
    await done

    assert.equal(none, null)
    assert.equal((await ledger.get(jobId))?.state, 'done')
    const { status, answer, metadata } = await callback()
    const { compute_time_ms: computeMs, ...others } = metadata
    assert.deepEqual([status, answer, others], ['success', '3 and 7', { verdict: 'AC', solver: 'captcha' }])
    assert(Number.isInteger(computeMs) && computeMs >= 0)
    assert.deepEqual(
      asked.map(({ key, askedBy, body }) => [key, askedBy, body['question']]),
      [[jobId, jobId, 'Which are bridges?']],
    )
    assert.deepEqual([...waits], [[jobId, { waitsFor: [task] }]])
  })

  test('that could not be solved there fails with the code of that door', async (t) => {
    const { start, solve, callback, tasks, ledger, acknowledged } = await setup(t)
    const waiting = acknowledged()
    await solve()
    start()
    await waiting
    const done = acknowledged()
    const [task = ''] = await tasks()
    await ledger.cancel({ jobId: task, reason: 'unreadable' })
    await done

    const { status, error_code: code, error_message: message } = await callback()
    assert.deepEqual([status, code, message], ['failed', 'UNSOLVABLE', 'The operator gave up: unreadable'])
  })

  test('fails at once with SOLVER_UNAVAILABLE if no door solves it, and with the reason if it is refused', async (t) => {
    const unavailable = await setup(t, { offered: false })
    const refusing = await setup(t, { refuses: true })

    for (const { start, solve, acknowledged } of [unavailable, refusing]) {
      const done = acknowledged()
      await solve()
      start()
      await done
    }

    assert.equal((await unavailable.callback()).error_code, 'SOLVER_UNAVAILABLE')
    const { error_code: code, error_message: message } = await refusing.callback()
    assert.deepEqual([code, message], ['INVALID_PROBLEM', 'A captcha needs a url.'])
  })

  test('is begun once, even if the process dies before it stores that', async (t) => {
    const { run, solve, acquire, expireLease, tasks, start, acknowledged } = await setup(t)
    const jobId = await solve()
    await run(await acquire(jobId, 'dies'), { signal: new AbortController().signal, log: pino({ enabled: false }) })
    await expireLease(jobId)

    const waiting = acknowledged()
    start()
    await waiting

    assert.equal((await tasks()).length, 1)
  })

  test('that is not solved within timeout_ms fails with TIMEOUT, and the work is withdrawn', async (t) => {
    const { start, solve, callback, acknowledged, database, ledger, tasks, withdrawn, ring } = await setup(t)
    const waiting = acknowledged()
    const jobId = await solve({ constraints: { timeout_ms: 60_000 } })
    start()
    await waiting
    const [task] = await tasks()
    const asked = await ledger.get(jobId)

    const done = acknowledged()
    await database.query(`update jobs set submitted_at = submitted_at - interval '61 seconds' where job_id = $1`, [
      jobId,
    ])
    await ledger.promote([jobId])
    ring()
    await done

    assert((asked?.dueAt?.getTime() ?? Infinity) <= Date.now() + 60_000, 'it is looked at when the time is up')
    assert.equal((await callback()).error_code, 'TIMEOUT')
    assert.deepEqual(withdrawn, [task])
  })
})

// An executor on a real ledger, with a feed as simple as can be: it takes what is ready, or waits to be rung.
import { EventEmitter, on, once } from 'node:events'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Feed } from '../../src/core/feed/feed.ts'
import { openExecutor, type ExecutorOptions } from '../../src/core/executor/executor.ts'
import type { Kind } from '../../src/core/executor/kind.ts'
import { openExecutorMetrics } from '../../src/core/executor/metrics.ts'
import type { Ledger } from '../../src/core/ledger/ledger.ts'
import { Wake } from '../../src/core/loop.ts'
import type { MigrationFolder } from '../../src/core/db/migrate.ts'
import { atEnd } from '../support/cleanup.ts'
import { setupLedger } from '../support/ledger.ts'

const LEASE_MS = 60_000 // a machine that pauses must not cost a test its lease
const HEARTBEAT_MS = 60
const LONG_MS = 60_000

export async function setupExecutor(
  t: TestContext,
  doors: readonly MigrationFolder[] = [],
  { leaseMs = LEASE_MS }: { leaseMs?: number } = {},
) {
  const world = await setupLedger(t, doors)
  const said = new EventEmitter()
  const wake = new Wake()
  const feed: Feed = {
    hint: () => wake.ring(),
    announce: async (jobs) => {
      said.emit('announced', jobs)
      wake.ring()
    },
    async take({ kind, limit, signal }) {
      const jobs = (await world.ledger.acquireNextFrom(null, { kind, limit, owner: 'executor', leaseMs })).jobs
      if (jobs.length === 0) await wake.wait(LONG_MS, signal)
      return jobs.map((job) => ({ job, acknowledge: async () => void said.emit('acknowledged', job.jobId) }))
    },
    loops: () => [],
    check: async () => {},
    close: async () => {},
  }
  const ledger = telling(world.ledger, said)
  const metrics = openExecutorMetrics(new Registry())

  const start = (run: NonNullable<Kind['run']>, more: Partial<ExecutorOptions> & { kind?: Kind } = {}) => {
    const executor = openExecutor({
      kind: { name: 'echo', run },
      ledger,
      feed,
      slots: 4,
      leaseMs,
      heartbeatMs: HEARTBEAT_MS,
      retry: { baseMs: 10_000, maxMs: 20_000 },
      log: pino({ enabled: false }),
      metrics,
      ...more,
    })
    executor.start()
    atEnd(t, () => executor.drain(0))
    return executor
  }
  const submit = async (job: Parameters<typeof world.submit>[0] = {}) => {
    const jobId = await world.submit(job)
    wake.ring()
    return jobId
  }
  return { ...world, ledger, feed, metrics, said, start, submit, ring: () => wake.ring() }
}

/** The ledger, saying aloud what it answered to whom. */
function telling(ledger: Ledger, said: EventEmitter): Ledger {
  return {
    ...ledger,
    async renew(request) {
      const answer = await ledger.renew(request)
      said.emit('renewed', answer)
      return answer
    },
    async finalize(request) {
      const answer = await ledger.finalize(request)
      said.emit('finalized', answer)
      return answer
    },
    async fail(request) {
      const answer = await ledger.fail(request)
      said.emit('failed', answer, request)
      return answer
    },
  }
}

/** The first so many events of a name, listened for from now on. */
export async function first(said: EventEmitter, name: string, count: number): Promise<unknown[]> {
  const seen: unknown[] = []
  for await (const [value] of on(said, name)) if (seen.push(value) === count) break
  return seen
}

/** Work that begins, and ends when it is told to. */
export function gatedWork() {
  const gate = new EventEmitter()
  const began = once(gate, 'began')
  const opened = once(gate, 'open')
  const run: NonNullable<Kind['run']> = async () => {
    gate.emit('began')
    await opened
    return { result: 'late' }
  }
  return { run, began, open: () => gate.emit('open') }
}

/** Work that begins, and ends when it is interrupted: with a result that nobody must record. */
export function endlessWork() {
  const gate = new EventEmitter()
  const began = once(gate, 'began')
  const ended = once(gate, 'ended')
  const run: NonNullable<Kind['run']> = async (_, { signal }) => {
    gate.emit('began')
    if (!signal.aborted) await once(signal, 'abort')
    gate.emit('ended')
    return { result: 'void' }
  }
  return { run, began, ended }
}

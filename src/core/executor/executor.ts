// An executor takes jobs of one kind from the feed, runs them in its slots and records their outcome. It renews the leases
// of all jobs in flight with one statement every third of a lease. A lost lease aborts the work, and its result is discarded.
//
//   take ──► run ──► finalize ──► acknowledge
//             ├─ throws ─► fail (again later, or dead) ─► acknowledge
//             └─ waits for another job ─► release (until that one has ended) ─► acknowledge
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { attemptFields } from '../log/log.ts'
import { runLoop, Wake, type Loop } from '../loop.ts'
import type { Feed, TakenJob } from '../feed/feed.ts'
import { runAttempt, type Attempt, type AttemptDeps } from './attempt.ts'
import { sampledLog, type SampledLog } from '../log/sampled-log.ts'
import { Interruption } from './interruption.ts'
import { openDependents } from './dependents.ts'

export interface ExecutorOptions extends Omit<AttemptDeps, 'onWaiting' | 'onOver' | 'log'> {
  log: Logger
  slots: number
  feed: Feed
  leaseMs: number
  heartbeatMs: number
}

export interface Executor {
  start(): void
  /** Takes no more jobs, waits for those in flight, and releases what is not done when the time is up. */
  drain(timeoutMs: number): Promise<void>
}

interface InFlight extends Attempt {
  /** When the lease expires unless it is renewed, by this process's own clock. */
  leasedUntil: number
}

const TAKE_ERROR_PAUSE_MS = 1000
const TAKE_MAX = 1000 // not all slots at once: some are filled while others are being finalized
const DRAIN_LOOK_MS = 50
const LEASE_CHECKS_PER_HEARTBEAT = 4

export function openExecutor(options: ExecutorOptions): Executor {
  const { kind, slots, feed, leaseMs, heartbeatMs, log, metrics } = options
  const label = { kind: kind.name }
  const sampled = sampledLog(log)
  const stopping = new AbortController()
  const ending = new AbortController()
  const inFlight = new Map<string, InFlight>()
  const slotFree = new Wake()
  const dependents = openDependents(options)
  const onOver = (attempt: Attempt) => {
    const { jobId } = attempt.job
    if (inFlight.get(jobId) === attempt) inFlight.delete(jobId)
    slotFree.ring()
  }
  const deps: AttemptDeps = { ...options, log: sampled, onWaiting: dependents.listen, onOver }
  let taking = Promise.resolve()
  let beating = Promise.resolve()

  const takeLoop = async () => {
    while (!stopping.signal.aborted) {
      const limit = Math.min(TAKE_MAX, slots - inFlight.size)
      if (limit <= 0) {
        await slotFree.wait(heartbeatMs, stopping.signal)
        continue
      }
      try {
        const taken = await feed.take({ kind: kind.name, limit, signal: stopping.signal })
        metrics.attempts.inc(label, taken.length)
        const leasedUntil = performance.now() + leaseMs
        const held = taken.map((one) => hold(one, leasedUntil))
        const begin = () => held.forEach((mine) => void runAttempt(deps, mine))
        const mayTakeMore = taken.length === limit && inFlight.size < slots
        if (mayTakeMore) setImmediate(begin) // more are asked for before these are worked on
        else begin()
      } catch (error) {
        log.error({ err: error, kind: kind.name }, 'could not take jobs')
        await sleep(TAKE_ERROR_PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => {})
      }
    }
  }

  const hold = ({ job, acknowledge }: TakenJob, leasedUntil: number): InFlight => {
    const mine = { job, interruption: new Interruption(log), leasedUntil, acknowledge }
    inFlight.set(job.jobId, mine)
    return mine
  }

  return {
    start() {
      metrics.slots.set(label, slots)
      metrics.busySlots.set(kind.name, () => inFlight.size)
      taking = takeLoop()
      beating = runLoop(renewing(inFlight, { ...options, log: sampled }), ending.signal, (error) =>
        log.error({ err: error }, 'heartbeat failed'),
      )
    },
    async drain(timeoutMs) {
      stopping.abort()
      metrics.slots.set(label, 0)
      await taking // the jobs of its last take are in flight now as well
      const deadline = performance.now() + timeoutMs
      while (inFlight.size > 0 && performance.now() < deadline) await sleep(DRAIN_LOOK_MS)
      await Promise.all([...inFlight.values()].map((held) => giveBack(held, options)))
      await dependents.close()
      ending.abort()
      await beating
    },
  }
}

type RenewOptions = Omit<ExecutorOptions, 'log'> & { log: SampledLog }

/** Renews in one pass every lease that has run for a heartbeat. */
const renewing = (inFlight: ReadonlyMap<string, InFlight>, options: RenewOptions): Loop => ({
  name: `renew-leases ${options.kind.name}`,
  everyMs: options.heartbeatMs / LEASE_CHECKS_PER_HEARTBEAT,
  runOnce: async () => {
    const { leaseMs, heartbeatMs } = options
    const due = [...inFlight.values()].filter((held) => held.leasedUntil - performance.now() <= leaseMs - heartbeatMs)
    await renewAll(due, options, (held) => inFlight.get(held.job.jobId) === held)
    return false
  },
})

/** A renewal that the ledger refuses, or that cannot reach it before the lease expires, aborts the work. */
async function renewAll(
  held: readonly InFlight[],
  options: RenewOptions,
  isStillHeld: (held: InFlight) => boolean,
): Promise<void> {
  const { ledger, leaseMs, heartbeatMs, metrics, log } = options
  const asked = performance.now()
  await Promise.all(
    held.map(async (one) => {
      const { jobId, attemptId, owner } = one.job
      const lose = (reason: string) => {
        metrics.heartbeats.inc({ status: 'lost', reason })
        log.warn({ ...attemptFields(one.job), reason }, 'lease lost')
        one.interruption.abort()
      }
      try {
        const answer = await ledger.renew({ jobId, attemptId, owner, leaseMs })
        if (!isStillHeld(one)) return // the attempt has ended meanwhile
        if (!answer.ok) return lose(answer.code)
        one.leasedUntil = asked + leaseMs
        metrics.heartbeats.inc({ status: 'ok', reason: '' })
      } catch (error) {
        metrics.heartbeats.inc({ status: 'error', reason: 'db_error_heartbeat' })
        log.error({ err: error, ...attemptFields(one.job), reason: 'db_error_heartbeat' }, 'could not renew a lease')
        if (one.leasedUntil <= performance.now() + heartbeatMs) lose('db_error_heartbeat')
      }
    }),
  )
}

/** The time to drain is up: aborts the work and releases the job, so that another process can take it at once. */
async function giveBack(
  { job, interruption, acknowledge }: InFlight,
  { ledger, feed, log }: ExecutorOptions,
): Promise<void> {
  interruption.abort()
  try {
    const answer = await ledger.release({ jobId: job.jobId, attemptId: job.attemptId, owner: job.owner })
    if (!answer.ok) return
    await feed.announce([{ jobId: job.jobId, kind: job.kind, priority: job.priority }])
    await acknowledge?.()
  } catch (error) {
    log.error({ err: error, ...attemptFields(job) }, 'could not release a job')
  }
}

// The polls that wait in this process, one per worker, in the order in which they came.
import type { StopSignal } from '../../../core/concurrency/stop-signal.ts'
import { Waiter } from '../../../core/concurrency/waiter.ts'
import type { Worker } from '../workers/presence.ts'
import type { Assignment } from './assignments.ts'
import type { Candidate } from './match.ts'

const WAITING_MAX = 100_000
const PASSES_MAX = 5 // after which a poll that does not wait is answered in any case

/** `again`: what is known of the worker is out of date, so the poll starts over. */
export type PollOutcome = Assignment | 'nothing' | 'again'

export interface WaitingPoll extends Candidate {
  /** Workers with the same region and specs are eligible for the same classes. */
  profile: string
  /** Passes that looked at it. */
  passes: number
  /** Aborts when the client has gone. */
  signal: StopSignal
  waiter: Waiter<PollOutcome>
}

export interface PollLimits {
  timeoutMs: number
  signal: StopSignal
}

export class WaitingPolls {
  readonly #polls = new Map<number, WaitingPoll>()
  readonly #short = new Set<WaitingPoll>()
  #isClosed = false

  get size(): number {
    return this.#polls.size
  }

  all(): WaitingPoll[] {
    return [...this.#polls.values()]
  }

  /** Those that do not wait for a job. */
  short(): WaitingPoll[] {
    return [...this.#short]
  }

  of(workerId: number): WaitingPoll | undefined {
    return this.#polls.get(workerId)
  }

  workerIds(): number[] {
    return [...this.#polls.keys()]
  }

  /** A worker that polls again has given up its earlier poll: that one is answered with nothing. */
  wait(worker: Worker, isTrusted: boolean, { timeoutMs, signal }: PollLimits): Promise<PollOutcome> {
    const { workerId } = worker
    this.#polls.get(workerId)?.waiter.resolve('nothing')
    if (this.#isClosed || this.#polls.size >= WAITING_MAX || signal.aborted) return Promise.resolve('nothing')
    const isLong = timeoutMs > 0
    const waiter = new Waiter<PollOutcome>({
      timeoutMs: isLong ? timeoutMs : Infinity,
      signal,
      onTimeout: () => 'nothing',
      onLeave: () => {
        this.#short.delete(poll)
        if (this.#polls.get(workerId) === poll) this.#polls.delete(workerId)
      },
    })
    const profile = JSON.stringify([worker.region, worker.specs])
    const poll: WaitingPoll = { worker, isTrusted, profile, passes: 0, signal, waiter }
    this.#polls.set(workerId, poll)
    if (!isLong) this.#short.add(poll)
    return waiter.answer
  }

  close(): void {
    this.#isClosed = true
    for (const { waiter } of this.all()) waiter.resolve('nothing')
  }
}

/** Answers polls that do not wait: when there is nothing more to find, or after a few passes. */
export function dismiss(short: readonly WaitingPoll[], isOver: boolean): void {
  for (const poll of short) {
    poll.passes += 1
    if (isOver || poll.passes >= PASSES_MAX) poll.waiter.resolve('nothing')
  }
}

// Progress events of a submission. Tests are collected for a moment and written to the event log together; the last of them
// go out with the verdict, in the transaction that records it. A submission that is judged quickly needs no extra write.
import type { Database } from '../../../core/db/database.ts'
import type { Events } from '../../../core/events/events.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Outbox } from '../../../core/outbox/outbox.ts'
import type { JudgeResult, TestLine } from './result.ts'
import { STATUS_TEXT } from './verdict.ts'

const GATHER_MS = 100

export const channelOf = (jobId: string): string => `judge:${jobId}`

export interface JudgeProgress {
  /** The program is ready, and will be run on so many tests at most. */
  running(tests: number): void
  test(line: TestLine): void
  /** To be committed with the result. No event is written after this call. */
  finished(result: JudgeResult): Promise<Effect>
  /** The attempt failed. */
  discard(): Promise<void>
}

export interface ProgressDeps {
  events: Events
  database: Database
  outbox: Pick<Outbox, 'wake'>
  onError(error: unknown): void
}

export function openProgress(
  deps: ProgressDeps,
  { jobId, attemptId }: { jobId: string; attemptId: number },
): JudgeProgress {
  let total: number | null = null
  let waiting: TestLine[] = []
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()

  const tell = () => {
    timer = null
    const payload = { attempt_id: attemptId, total, tests: waiting.splice(0) }
    writing = writing.then(() => write(deps, { channel: channelOf(jobId), type: 'progress', payload }))
  }
  const stop = async () => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    waiting = []
    await writing
  }
  const soon = () => {
    timer ??= setTimeout(tell, GATHER_MS)
  }

  return {
    running(tests) {
      total = tests
      soon()
    },
    test(line) {
      waiting.push(line)
      soon()
    },
    async finished(result) {
      const tests = waiting
      await stop() // the verdict comes last
      return finishedEffect(deps.events, jobId, { attemptId, total, result, tests })
    },
    discard: stop,
  }
}

/** A failure to publish progress must not stop the judging. */
async function write({ events, database, outbox, onError }: ProgressDeps, event: Parameters<Events['effect']>[0]) {
  try {
    const { sql, row } = events.effect(event)
    await database.query(sql, [JSON.stringify([row])])
    outbox.wake()
  } catch (error) {
    onError(error)
  }
}

export function finishedEffect(
  events: Events,
  jobId: string,
  ending: {
    attemptId: number | null
    total: number | null
    result: JudgeResult
    tests: readonly TestLine[]
    reason?: string
  },
): Effect {
  const { attemptId, total, result, tests, reason } = ending
  const { verdict, time_ms, mem_kb, score } = result
  const payload = {
    attempt_id: attemptId,
    total,
    tests,
    verdict,
    status_text: STATUS_TEXT[verdict],
    time_ms,
    mem_kb,
    ...(score === undefined ? {} : { score }),
    ...(reason === undefined ? {} : { reason }),
  }
  return events.effect({ channel: channelOf(jobId), type: 'finished', payload })
}

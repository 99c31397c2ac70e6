// Jobs that were released because they depend on other jobs. The process that released one waits for the other job's end and
// promotes it at once. That only reduces latency: if the process dies, the job becomes due after its delay.
import { setMaxListeners } from 'node:events'
import type { Logger } from 'pino'
import type { Feed } from '../feed/feed.ts'
import { isEnded } from '../ledger/ended.ts'
import type { Acquired } from '../ledger/job.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { WaitsForJob } from './kind.ts'

const LISTENING_MAX = 10_000

interface Dependents {
  /** Call after the commit of the release: an end that came earlier is not missed. */
  listen(job: Acquired, waiting: WaitsForJob): void
  close(): Promise<void>
}

interface DependentsDeps {
  ledger: Ledger
  feed: Feed
  log: Logger
}

export function openDependents({ ledger, feed, log }: DependentsDeps): Dependents {
  const closing = new AbortController()
  setMaxListeners(0, closing.signal) // one listener per dependent
  const listening = new Set<Promise<void>>()

  const listen = async ({ jobId, traceId }: Acquired, { waitsFor, lookAgainMs }: WaitsForJob) => {
    try {
      const other = await ledger.awaitEnd(waitsFor, { timeoutMs: lookAgainMs, signal: closing.signal })
      if (!isEnded(other)) return
      const ready = await ledger.promote([jobId])
      if (ready.length > 0) await feed.announce(ready)
    } catch (error) {
      log.warn({ err: error, job_id: jobId, trace_id: traceId }, 'could not wake a job that waits for another')
    }
  }

  return {
    listen(job, waiting) {
      if (listening.size >= LISTENING_MAX) return
      const one = listen(job, waiting).finally(() => listening.delete(one))
      listening.add(one)
    },
    async close() {
      closing.abort()
      await Promise.all(listening)
    },
  }
}

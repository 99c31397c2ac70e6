import type { Logger } from 'pino'
import type { Clock } from '../../clock.ts'
import type { ExecutorMetrics } from '../../executor/metrics.ts'
import type { EndAnswer } from '../../ledger/end.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { RowKey } from '../../outbox/delivery.ts'

export interface RedisFeedOptions {
  url: string
  ledger: () => Ledger
  /** Of the leases that this process gets. */
  owner: string
  leaseMs: number
  /** One level of priority is worth so much waiting. */
  ageingSec: number
  payloadTtlSec: number
  streams: {
    /** The stream of judge jobs at normal priority. Other kinds have `reeve:jobs:<kind>`. */
    judgeKey: string
    group: string
    consumer: string
    /** About where a stream is trimmed. */
    maxLength: number
  }
  reclaim: {
    everyMs: number
    /** How many entries of a stream are looked at in one pass. */
    count: number
    /** Idle time beyond the lease before an entry is taken over. */
    graceMs: number
  }
  repair?: {
    everyMs: number
    /** A job that waits for longer is looked for in its stream. */
    olderThanMs: number
    /** A consumer that has been silent for so long, and has nothing pending, is taken off the group's list. */
    forgetConsumersMs: number
  }
  metrics: ExecutorMetrics
  log: Logger
  clock?: Clock
  /** Announcing is the outbox's work: this makes it look at once. */
  wakeDispatcher(): void
  /** What these rows of the outbox announce is in a stream: they have served. */
  onAnnounced?: (rows: readonly RowKey[]) => Promise<void>
  /** False for kinds whose hands never read a stream: nothing is announced for them. */
  announces?: (kind: string) => boolean
  /** Ends a job that an unreadable entry names, with what its door commits with a death. */
  bury?: (jobId: string, reason: string) => Promise<EndAnswer>
}

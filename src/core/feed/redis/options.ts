import type { Logger } from 'pino'
import type { Clock } from '../../clock.ts'
import type { ExecutorMetrics } from '../../executor/metrics.ts'
import type { EndAnswer } from '../../ledger/end.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { DeliveredRow } from '../../outbox/delivery.ts'

export interface RedisFeedOptions {
  url: string
  ledger: () => Ledger
  /** Owner of the leases that this process gets. */
  owner: string
  leaseMs: number
  /** Waiting time that is worth one level of priority. */
  ageingSec: number
  payloadTtlSec: number
  streams: {
    /** Keys of the streams of normal priority, by kind. The jobs of kinds without one wait in a sorted set. */
    keys?: Readonly<Record<string, string>>
    group: string
    consumer: string
    /** Approximate length at which a stream is trimmed. */
    maxLength: number
  }
  reclaim: {
    everyMs: number
    /** How many entries of a stream are looked at in one pass. */
    count: number
    /** Idle time beyond the lease before an entry is claimed. */
    graceMs: number
  }
  repair: {
    everyMs: number
    /** A job that has waited for longer is looked up in its stream. */
    olderThanMs: number
    /** Idle time after which a consumer with nothing pending is deleted. */
    forgetConsumersMs: number
  }
  metrics: ExecutorMetrics
  log: Logger
  clock?: Clock
  /** Makes the outbox look at once: it announces the jobs. */
  wakeDispatcher(): void
  /** The jobs of these outbox rows are in a stream now. */
  /** Delivered rows of the outbox stay, marked. Default: they are deleted. */
  keepsOutboxRows?: boolean
  onAnnounced?: (rows: readonly DeliveredRow[]) => Promise<void>
  /** False for kinds whose executors never read a stream: nothing is announced for them. */
  announces?: (kind: string) => boolean
  /** Ends a job that an unreadable entry names, with the effects that its door declares for a dead job. */
  bury?: (jobId: string, reason: string) => Promise<EndAnswer>
}

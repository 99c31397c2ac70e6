// Where the announcements of one kind wait in Redis. There are two forms: streams (streams/; docs/judge.md, C1), which other programs
// read and write too, and a sorted set of job ids (ready/), which costs Redis a sixth of that.
import type { Redis } from 'ioredis'
import type { JobBrief } from '../../ledger/read.ts'
import type { ReadyJob } from '../../ledger/repair.ts'
import type { SampledLog } from '../../log/sampled-log.ts'
import type { Delivered } from '../../outbox/delivery.ts'
import type { TakenJob, TakeRequest } from '../feed.ts'
import type { Announcer } from './announcer.ts'
import type { Outage } from './connection.ts'
import type { RedisFeedOptions } from './options.ts'
import type { Level } from './streams/streams.ts'

export interface Announcement {
  job: JobBrief
  /** Above the level of the job's priority once it has waited for long. */
  level?: Level | undefined
}

/** A job that is announced again. */
export interface LostJob extends ReadyJob {
  level?: Level
}

export interface KindQueue {
  /**
   * One answer per job, in their order. `areNew`: nobody has announced them before. Throws when Redis cannot be used; then any
   * of them may have been announced.
   */
  announce(announcements: readonly Announcement[], areNew: boolean): Promise<readonly Delivered[]>
  /** Announcements that no executor has read. */
  backlog(): Promise<number>
  oldestWaitingMs(): Promise<number>
  /** Those that no announcement leads to. */
  findLost(jobs: readonly ReadyJob[]): Promise<readonly LostJob[]>
  /** Deletes a part of what nothing else deletes. */
  sweep(): Promise<void>
  /** What was read and not acquired is in Redis no more, so that only repair brings it back, and abandoned jobs too. */
  forgetsWhatWasRead: boolean
  openTaker(deps: TakerDeps): Taker
}

export interface TakerDeps {
  announcer: Announcer
  /** Redis has lost the announcements of this kind. */
  onLoss(): void
}

export interface Taker {
  take(request: TakeRequest): Promise<TakenJob[]>
  /** The next take begins with what an executor has read and left. */
  reclaimNext(): void
  /** Announces again what was read and not yet tried. */
  close(): Promise<void>
}

export interface KindQueueDeps {
  kind: string
  options: RedisFeedOptions
  /** The connection that never blocks. */
  commands: Redis
  outage: Outage
  log: SampledLog
}

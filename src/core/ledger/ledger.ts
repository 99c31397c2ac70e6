// The ledger: the only component that decides the state of a job.
//
//   pending ──acquire──► processing ──finalize──► done
//      ▲                   │  │  │
//      ├──fail, release────┘  │  └──fail (no attempts left), cancel──► dead
//      │                      └──acquire, once the lease has expired (the next attempt)
//      └──bury, cancel──► dead ──replay──► (a new job that names this one)
//
// Each transition is a file in this folder. Its SQL locks the row, judges it, and reports which condition refused the call.
// Work may run more than once, because a lease can expire while its holder still works. A result is recorded once, because
// only the holder of the newest attempt can write it. Concurrent calls of one transition share a statement (db/batch.ts).
import { batched } from '../db/batch.ts'
import type { Database, Pool, Tx } from '../db/database.ts'
import type { Bus, WithCommit } from '../events/bus.ts'
import type { Loop } from '../loop.ts'
import type { FreshWaitLimits, HintedWaits } from '../events/hinted-waits.ts'
import {
  acquire,
  acquireNextFrom,
  type AcquireAnswer,
  type AcquiredNext,
  type AcquireNextRequest,
  type AcquireRequest,
} from './acquire.ts'
import { topicsOf, type WithEffects } from './effects.ts'
import { conclude, type ConcludeAnswer, type ConcludeRequest } from './conclude.ts'
import { shortestDelay } from './delays.ts'
import { bury, cancel, type EndAnswer, type EndRequest } from './end.ts'
import { announceEnds, isEnded, openEndWaits, type EndReads, type JobEnding } from './ended.ts'
import { fail, type FailAnswer, type FailRequest } from './fail.ts'
import { finalize, type FinalizeAnswer, type FinalizeRequest } from './finalize.ts'
import { endedJobs, historyOf, type EndedJob, type HistoryEntry } from './history.ts'
import type { Job } from './job.ts'
import { countJobs, endedOf, getBriefs, getJobs, replaysOf, resultsOf, type JobBrief, type JobCount } from './read.ts'
import { release, type ReleaseAnswer, type ReleaseRequest } from './release.ts'
import { renew, type RenewAnswer, type RenewRequest } from './renew.ts'
import * as repair from './repair.ts'
import { openSubmits } from './submit/open-submits.ts'
import { sampleLedger, type LedgerSample } from './watch/sample.ts'
import {
  countMatching,
  forSearch,
  searchJobs,
  summariesOf,
  type CountedJobs,
  type FoundJobs,
  type JobSearch,
  type JobSummary,
} from './search.ts'
import type { EffectsOfReplay, ReplayAnswer } from './submit/replay.ts'
import type { Idempotency, NewJob, PreparedJob, Submitted } from './submit/submit.ts'
import type { GuardedJobs, GuardedStatement } from './submit/submit-guarded.ts'

export interface Ledger {
  submit(job: NewJob): Promise<Submitted>
  /** All of them or none, in one transaction. */
  submitMany(jobs: readonly NewJob[]): Promise<Submitted[]>
  /** Jobs that are created in a statement of the door, if the door's own rows allow it. */
  openGuarded<Answer extends object, Column extends string>(
    statement: GuardedStatement<Column>,
  ): (asked: GuardedJobs<NewJob, Column>) => Promise<Answer[]>
  /** Within a transaction of the door. The caller calls `announce` after its commit. */
  submitIn(tx: Tx, jobs: readonly NewJob[]): Promise<Submitted[]>
  /** Lets a key name a job that the door found or created itself. `duplicate`: it named one before; the answer says which. */
  nameIn(tx: Tx, idempotency: Idempotency, jobId: string): Promise<Submitted>
  /** What an earlier submit with this key was answered; null: there was none. */
  findNamed(idempotency: Idempotency): Promise<Submitted | null>
  announce(kinds: readonly string[]): void
  replay(jobId: string, effectsOf?: EffectsOfReplay): Promise<ReplayAnswer>

  acquire(request: AcquireRequest): Promise<AcquireAnswer>
  /**
   * For executors: commits without waiting for the disk. If the database crashes, it may forget the acquire, and another
   * owner may get the same attempt number. The fence also checks the owner, so this attempt's result is then refused.
   */
  acquireMany(requests: readonly Omit<AcquireRequest, 'effects'>[]): Promise<AcquireAnswer[]>
  /** The same for the next jobs of a kind: from a rank on, fresh jobs only; with null, fresh and abandoned ones. */
  acquireNextFrom(rank: number | null, request: AcquireNextRequest): Promise<AcquiredNext>
  renew(request: RenewRequest): Promise<RenewAnswer>
  finalize(request: FinalizeRequest): Promise<FinalizeAnswer>
  /** Acquires and finalizes at once: the job was decided by others. */
  conclude(request: ConcludeRequest): Promise<ConcludeAnswer>
  fail(request: FailRequest): Promise<FailAnswer>
  release(request: ReleaseRequest): Promise<ReleaseAnswer>

  cancel(request: EndRequest): Promise<EndAnswer>
  bury(request: EndRequest): Promise<EndAnswer>

  get(jobId: string): Promise<Job | null>
  briefs(jobIds: readonly string[]): Promise<JobBrief[]>
  count(): Promise<JobCount[]>
  /** Newest first, in bounded time. The page may be short: see `next`. */
  search(search: JobSearch, limit: number): Promise<FoundJobs>
  countMatching(search: JobSearch): Promise<CountedJobs>
  /** How it is doing, in bounded time. `since`: an id of about a minute ago. */
  sample(since: string): Promise<LedgerSample>
  /** Of those that exist, in any order. */
  summaries(jobIds: readonly string[]): Promise<JobSummary[]>
  history(job: Job): Promise<HistoryEntry[]>
  /** The new job of each of them that was replayed. */
  replaysOf(jobIds: readonly string[]): Promise<Map<string, string>>
  /** By id, of those that are done. */
  results(jobIds: readonly string[]): Promise<Map<string, unknown>>
  /** Those of them that have ended, with their attempts, in any order. */
  endedJobs(jobIds: readonly string[]): Promise<EndedJob[]>
  /** The job once it has ended, or as it is when the time is up. */
  awaitEnd(jobId: string, limits: FreshWaitLimits): Promise<Job | null>
  /** The same for a door whose answer is a row of its own, written by the transaction that ends the job: the job is not read. */
  openEndWaits<Subject, Value>(reads: EndReads<Subject, Value>): HintedWaits<Subject, Value>

  promoteDue(limit: number): Promise<repair.ReadyJob[]>
  promote(jobIds: readonly string[]): Promise<repair.ReadyJob[]>
  nextDueMs(): Promise<number | null>
  findAbandoned(filter: repair.AbandonedFilter): Promise<repair.ReadyJob[]>
  findWaiting(filter: repair.WaitingFilter): Promise<{ jobs: repair.ReadyJob[]; next: repair.RankPosition | null }>
  /** Whether there may be more. */
  deleteOldKeys(limit: number): Promise<boolean>

  loops: Loop[]
  close(): void
}

/** Jobs that are ready and still in the memory of the process that submitted them. */
export interface FreshJobs {
  jobs: readonly PreparedJob[]
  /** One outbox row announces all of them. */
  inOneOutboxRow: boolean
}

export interface LedgerOptions {
  database: Database
  bus: Bus
  maxAttempts: number
  ageingSec: number
  /** True with the Redis feed: an outbox row announces each job. With the PostgreSQL feed the job's own row does. */
  announceByOutbox: boolean
  /** Whether `onReady` announces fresh jobs itself. The outbox then leaves them alone for a grace period. */
  announcesFresh?: () => boolean
  /** Called after a commit that made jobs of these kinds ready. `fresh` are those that were submitted by it. */
  onReady(kinds: readonly string[], fresh?: FreshJobs): void
  /** Called before the commit of a lone job: a hint that travels with the commit, instead of `onReady` after it. */
  hintWithin?(kinds: readonly string[]): WithCommit | null
  /** Called after a commit that wrote to these topics of the outbox. Null: any of them. */
  onOutbox(topics: readonly string[] | null): void
  /** Called with every job that is about to be submitted. Never waits, never throws. */
  onSubmit?: ((job: PreparedJob) => void) | undefined
  /** Called after a commit that ended these jobs. Never waits, never throws. */
  onEnded?(jobIds: readonly string[], ending: JobEnding): void
  /** Called after a commit that delayed a job by so long. */
  onDelayed?(delayMs: number): void
}

export function openLedger(options: LedgerOptions): Ledger {
  const { hot } = options.database
  const read = batched<string, { job: Job | null }>({
    keyOf: (jobId) => jobId,
    run: async (jobIds) => (await getJobs(hot, jobIds)).map((job) => ({ job })),
  })
  const get = async (jobId: string) => (await read(jobId)).job
  const waitsFor = <Subject, Value>(reads: EndReads<Subject, Value>) =>
    openEndWaits(options.bus, (jobIds) => endedOf(hot, jobIds), reads)
  const ends = waitsFor({ jobIdOf: (jobId: string) => jobId, read: get, isFinal: isEnded })

  return {
    ...openSubmits(options),
    ...openAcquires(options),
    ...openTransitions(options),
    ...openReads(options.database),
    ...openRepairs(hot),
    get,
    awaitEnd: ends.wait,
    openEndWaits: waitsFor,
    loops: [ends.loop],
    close: ends.close,
  }
}

function openAcquires({ database: { hot, asyncCommit }, onOutbox }: LedgerOptions) {
  const acquireOne = batched({
    keyOf: jobIdOf,
    run: (requests: AcquireRequest[]) => acquire(hot, requests, onOutbox),
  })
  return {
    acquire: acquireOne,
    acquireMany(requests: readonly Omit<AcquireRequest, 'effects'>[]) {
      const areDistinct = new Set(requests.map(jobIdOf)).size === requests.length
      return areDistinct ? acquire(asyncCommit, requests, onOutbox) : Promise.all(requests.map(acquireOne))
    },
    acquireNextFrom: (rank: number | null, request: AcquireNextRequest) => acquireNextFrom(asyncCommit, rank, request),
  }
}

/** The transitions of a held job, and those that end a job from outside an attempt. */
function openTransitions(options: LedgerOptions) {
  const { bus, ageingSec, onOutbox, onEnded, onDelayed } = options
  const { hot } = options.database
  /** After the commit: tells the waiters of the jobs that ended, and the outbox if something was written to it. */
  const transition = <Request extends { jobId: string } & WithEffects, Answer extends { ok: boolean }>(
    run: (requests: Request[]) => Promise<Answer[]>,
    ending: JobEnding | null,
    hasEnded: (answer: Answer) => boolean,
    delayOf: (request: Request) => number = () => 0,
  ) =>
    batched<Request, Answer>({
      keyOf: jobIdOf,
      async run(requests) {
        const answers = await run(requests)
        const ended = requests.filter((_, index) => {
          const answer = answers[index]
          return answer !== undefined && hasEnded(answer)
        })
        if (ended.length > 0 && ending !== null) {
          const jobIds = ended.map(jobIdOf)
          announceEnds(bus, jobIds)
          onEnded?.(jobIds, ending)
        }
        const topics = topicsOf(requests.flatMap(({ effects }) => effects ?? []))
        if (topics.length > 0) onOutbox(topics)
        const delayMs = shortestDelay(requests.map(delayOf))
        if (delayMs !== null) onDelayed?.(delayMs)
        return answers
      },
    })

  return {
    renew: transition((requests: RenewRequest[]) => renew(hot, requests), null, never),
    release: transition(
      (requests: ReleaseRequest[]) => release(hot, requests),
      null,
      never,
      ({ delayMs = 0 }) => delayMs,
    ),
    fail: transition(
      (requests: FailRequest[]) => fail(hot, requests, ageingSec),
      'failed',
      (answer) => answer.ok && answer.dead,
      ({ retryMs }) => retryMs ?? 0,
    ),
    finalize: transition((requests: FinalizeRequest[]) => finalize(hot, requests), 'done', isOk),
    conclude: transition((requests: ConcludeRequest[]) => conclude(hot, requests), 'done', isOk),
    cancel: transition((requests: EndRequest[]) => cancel(hot, requests), 'cancelled', isOk),
    bury: transition((requests: EndRequest[]) => bury(hot, requests), 'buried', isOk),
  }
}

function openReads(database: Database) {
  return {
    briefs: (jobIds: readonly string[]) => getBriefs(database.hot, jobIds),
    count: () => countJobs(database),
    search: (search: JobSearch, limit: number) => forSearch(database, (on) => searchJobs(on, search, limit)),
    countMatching: (search: JobSearch) => forSearch(database, (on) => countMatching(on, search)),
    sample: (since: string) => sampleLedger(database, since),
    summaries: (jobIds: readonly string[]) => summariesOf(database, jobIds),
    history: (job: Job) => historyOf(database, job),
    replaysOf: (jobIds: readonly string[]) => replaysOf(database, jobIds),
    results: (jobIds: readonly string[]) => resultsOf(database, jobIds),
    endedJobs: (jobIds: readonly string[]) => endedJobs(database, jobIds),
    deleteOldKeys: (limit: number) => repair.deleteOldKeys(database, limit),
  }
}

function openRepairs(hot: Pool) {
  return {
    promoteDue: (limit: number) => repair.promoteDue(hot, limit),
    promote: (jobIds: readonly string[]) => repair.promote(hot, jobIds),
    nextDueMs: () => repair.nextDueMs(hot),
    findAbandoned: repair.openAbandonedFinder(hot),
    findWaiting: (filter: repair.WaitingFilter) => repair.findWaiting(hot, filter),
  }
}

const jobIdOf = (request: { jobId: string }): string => request.jobId
const never = (): boolean => false
const isOk = (answer: { ok: boolean }): boolean => answer.ok

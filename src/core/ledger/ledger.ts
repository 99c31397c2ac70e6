// The ledger: the one place that decides what becomes of a job.
//
//   pending ──acquire──► processing ──finalize──► done
//      ▲                   │  │  │
//      ├──fail, release────┘  │  └──fail (no attempts left), cancel──► dead
//      │                      └──acquire, once the lease has expired (the next attempt)
//      └──bury, cancel──► dead ──replay──► (a new job that names this one)
//
// Every transition is a file of this folder: its SQL locks the row, judges it, and answers with what refused it. Work may
// run more than once, because a lease can expire while its holder still works; a result is recorded once, because only
// the holder of the newest attempt can write it. Concurrent calls of one transition share a statement (batch.ts).
import { batched } from '../db/batch.ts'
import type { Database, Pool, Tx } from '../db/database.ts'
import type { Bus, WithCommit } from '../events/bus.ts'
import type { Loop } from '../loop.ts'
import {
  acquire,
  acquireNextFrom,
  type AcquireAnswer,
  type AcquiredNext,
  type AcquireNextRequest,
  type AcquireRequest,
} from './acquire.ts'
import type { WithEffects } from './effects.ts'
import { bury, cancel, type EndAnswer, type EndRequest } from './end.ts'
import { openEnded, type Ended } from './ended.ts'
import { fail, type FailAnswer, type FailRequest } from './fail.ts'
import { finalize, finalizeIn, type FinalizeAnswer, type FinalizeRequest } from './finalize.ts'
import { historyOf, type HistoryEntry } from './history.ts'
import type { Announcement } from './submit/insert-one.ts'
import type { Acquired, Held, Job } from './job.ts'
import {
  countJobs,
  endedOf,
  getBriefs,
  getJobs,
  listJobs,
  type JobBrief,
  type JobCount,
  type ListFilter,
} from './read.ts'
import { release, type ReleaseAnswer, type ReleaseRequest } from './release.ts'
import { renew, type RenewAnswer, type RenewRequest } from './renew.ts'
import { replay, type EffectsOfReplay, type ReplayAnswer } from './submit/replay.ts'
import * as repair from './repair.ts'
import {
  idempotencyName,
  areTogether,
  isAloneAndPlain,
  isFresh,
  nameIn,
  prepare,
  submit,
  submitIn,
  submitAlone,
  type Idempotency,
  type NewJob,
  type PreparedJob,
  type Submitted,
} from './submit/submit.ts'
import { openGuarded, type Guard, type Guarded } from './submit/submit-guarded.ts'

// So long the outbox leaves a new job to the process that submitted it, which announces it within milliseconds.
const OUTBOX_GRACE_MS = 5000

export interface Ledger {
  submit(job: NewJob): Promise<Submitted>
  /** All or none of them, in one transaction. */
  submitMany(jobs: readonly NewJob[]): Promise<Submitted[]>
  /** Jobs that rows of the door's own decide about, in one statement with them. */
  openGuarded<Answer extends object>(guard: Guard): (asked: readonly Guarded<NewJob>[]) => Promise<Answer[]>
  /** Within a transaction of the door's own. The caller calls `announce` after its commit. */
  submitIn(tx: Tx, jobs: readonly NewJob[]): Promise<Submitted[]>
  /** Lets a key name a job that the door found or made by itself: `duplicate` if it named one before, and which. */
  nameIn(tx: Tx, idempotency: Idempotency, jobId: string): Promise<Submitted>
  announce(kinds: readonly string[]): void

  acquire(request: AcquireRequest): Promise<AcquireAnswer>
  /**
   * For hands. A crash of the database may forget it, and another's attempt gets the same number: this one's result is refused
   * then, for want of the lease, and the work is done again.
   */
  acquireMany(requests: readonly Omit<AcquireRequest, 'effects'>[]): Promise<AcquireAnswer[]>
  /** The same for the next jobs of a kind. */
  acquireNext(request: AcquireNextRequest): Promise<Acquired[]>
  /** From a rank on, only fresh ones; from null on, the next of all. */
  acquireNextFrom(rank: number | null, request: AcquireNextRequest): Promise<AcquiredNext>
  renew(request: RenewRequest): Promise<RenewAnswer>
  finalize(request: FinalizeRequest): Promise<FinalizeAnswer>
  /** Within a transaction of the door's own. The caller calls `announceEnded` after its commit. */
  finalizeIn(tx: Tx, held: Held, result: unknown): Promise<FinalizeAnswer>
  announceEnded(jobIds: readonly string[]): void
  fail(request: FailRequest): Promise<FailAnswer>
  release(request: ReleaseRequest): Promise<ReleaseAnswer>
  cancel(request: EndRequest): Promise<EndAnswer>
  bury(request: EndRequest): Promise<EndAnswer>
  replay(jobId: string, effectsOf?: EffectsOfReplay): Promise<ReplayAnswer>

  get(jobId: string): Promise<Job | null>
  briefs(jobIds: readonly string[]): Promise<JobBrief[]>
  list(filter: ListFilter): Promise<Job[]>
  count(): Promise<JobCount[]>
  history(job: Job): Promise<HistoryEntry[]>
  /** The job once it has ended, or as it is when the time is up. */
  awaitEnd(jobId: string, options: { timeoutMs: number; signal?: AbortSignal }): Promise<Job | null>

  promoteDue(limit: number): Promise<repair.Announced[]>
  promote(jobIds: readonly string[]): Promise<repair.Announced[]>
  nextDueMs(): Promise<number | null>
  findAbandoned(filter: repair.AbandonedFilter): Promise<repair.Announced[]>
  findWaiting(filter: repair.WaitingFilter): Promise<{ jobs: repair.Announced[]; next: repair.Place | null }>
  deleteOldKeys(limit: number): Promise<void>

  loops: Loop[]
  close(): void
}

/** Jobs that are ready, and still in the memory of the process that submitted them. */
export interface Fresh {
  jobs: readonly PreparedJob[]
  /** One row of the outbox stands for all of them. */
  together: boolean
}

export interface LedgerOptions {
  database: Database
  bus: Bus
  maxAttempts: number
  ageingSec: number
  /** The announcement of a job is a row of the outbox (Redis feed), not the job's own row (PostgreSQL feed). */
  announceByOutbox: boolean
  /** Whether `onReady` announces what is submitted now by itself. The outbox then holds it back for a while. */
  announcesFresh?: () => boolean
  /** Called after a commit that made jobs of these kinds ready; `fresh` are those that were submitted just now. */
  onReady(kinds: readonly string[], fresh?: Fresh): void
  /** Asked before the commit of one job by itself: a hint that can travel with it, in place of `onReady` after it. */
  hintWithin?(kinds: readonly string[]): WithCommit | null
  /** Called after a commit that had effects: one of them may have written to the outbox. */
  onEffects(): void
}

export function openLedger(options: LedgerOptions): Ledger {
  const { hot } = options.database
  const read = batched<string, { job: Job | null }>({
    keyOf: (jobId) => jobId,
    run: async (jobIds) => (await getJobs(hot, jobIds)).map((job) => ({ job })),
  })
  const get = async (jobId: string) => (await read(jobId)).job
  const ended = openEnded(options.bus, { read: get, endedOf: (jobIds) => endedOf(hot, jobIds) })

  return {
    ...submitting(options),
    ...holding(options, ended),
    ...ending(options, ended),
    ...reading(options.database),
    ...repairing(hot),
    get,
    awaitEnd: ended.wait,
    loops: [ended.loop],
    close: ended.close,
  }
}

/** Into the ledger: submit and replay. */
function submitting(options: LedgerOptions) {
  const { database, onReady } = options
  const prepared = (job: NewJob) => prepare(job, options.maxAttempts)
  const announce = (jobs: readonly PreparedJob[], answers: readonly Submitted[], asFresh: boolean) => {
    const ready = jobs.filter((job, index) => isFresh(answers[index]) && job.delayMs === 0)
    const fresh = asFresh ? { jobs: ready, together: areTogether(jobs) } : undefined
    if (ready.length > 0) onReady([...new Set(ready.map((job) => job.kind))], fresh)
    if (jobs.some((job) => job.effects.length > 0)) options.onEffects()
  }
  const shortestWay = (job: PreparedJob, asFresh: boolean): Announcement | null => {
    const kinds = [job.kind]
    const hint = options.hintWithin?.(kinds) ?? null
    if (hint !== null) return { hint }
    if (!asFresh) return null
    return { outboxGraceMs: OUTBOX_GRACE_MS, announce: () => onReady(kinds, { jobs: [job], together: false }) }
  }
  const submitAll = async (jobs: readonly PreparedJob[]) => {
    const asFresh = options.announcesFresh?.() ?? false
    if (isAloneAndPlain(jobs)) {
      const announcement = shortestWay(jobs[0], asFresh)
      if (announcement !== null) return [await submitAlone(database.hot, jobs[0], { ...options, announcement })]
    }
    const answers = await submit(database.hot, jobs, { ...options, outboxGraceMs: asFresh ? OUTBOX_GRACE_MS : 0 })
    announce(jobs, answers, asFresh)
    return answers
  }
  const submitOne = batched<PreparedJob, Submitted>({
    keyOf: (job) => (job.idempotency === null ? job.jobId : idempotencyName(job.idempotency)),
    run: submitAll,
  })
  return {
    submit: (job: NewJob) => submitOne(prepared(job)),
    submitMany: (jobs: readonly NewJob[]) => submitAll(jobs.map(prepared)),
    openGuarded<Answer extends object>(guard: Guard) {
      const submitGuarded = openGuarded<Answer>(guard, options)
      return async (asked: readonly Guarded<NewJob>[]) => {
        const jobs = asked.map(({ job, more }) => ({ job: prepared(job), more }))
        const answers = await submitGuarded(database.hot, jobs)
        onReady([...new Set(jobs.map(({ job }) => job.kind))])
        if (options.announceByOutbox) options.onEffects()
        return answers
      }
    },
    submitIn: (tx: Tx, jobs: readonly NewJob[]) => submitIn(tx, jobs.map(prepared), options),
    nameIn,
    announce: (kinds: readonly string[]) => onReady(kinds),
    async replay(jobId: string, effectsOf?: EffectsOfReplay) {
      const { answer, kind } = await database.transaction((tx) => replay(tx, jobId, { ...options, effectsOf }))
      if (kind !== null) onReady([kind])
      if (effectsOf !== undefined) options.onEffects()
      return answer
    },
  }
}

/** What the holder of an attempt does. */
function holding({ database: { hot, asyncCommit }, ageingSec, onEffects }: LedgerOptions, ended: Ended) {
  const told = tellingAfter(ended, onEffects)
  const acquireOne = batched({
    keyOf: jobIdOf,
    run: async (requests: AcquireRequest[]) => {
      const answers = await acquire(hot, requests)
      if (requests.some(({ effects }) => effects !== undefined)) onEffects()
      return answers
    },
  })
  return {
    acquire: acquireOne,
    acquireMany(requests: readonly Omit<AcquireRequest, 'effects'>[]) {
      const areDifferent = new Set(requests.map(jobIdOf)).size === requests.length
      return areDifferent ? acquire(asyncCommit, requests) : Promise.all(requests.map(acquireOne))
    },
    acquireNext: async (request: AcquireNextRequest) => (await acquireNextFrom(asyncCommit, null, request)).jobs,
    acquireNextFrom: (rank: number | null, request: AcquireNextRequest) => acquireNextFrom(asyncCommit, rank, request),
    renew: batched({
      keyOf: jobIdOf,
      run: async (requests: RenewRequest[]) => told(requests, await renew(hot, requests), () => false),
    }),
    release: batched({
      keyOf: jobIdOf,
      run: async (requests: ReleaseRequest[]) => told(requests, await release(hot, requests), () => false),
    }),
    fail: batched({
      keyOf: jobIdOf,
      run: async (requests: FailRequest[]) =>
        told(requests, await fail(hot, requests, ageingSec), (answer) => answer.ok && answer.dead),
    }),
    finalize: batched({
      keyOf: jobIdOf,
      run: async (requests: FinalizeRequest[]) => told(requests, await finalize(hot, requests)),
    }),
    finalizeIn,
    announceEnded: ended.announce,
  }
}

/** What ends a job from outside an attempt. */
function ending({ database: { hot }, onEffects }: LedgerOptions, ended: Ended) {
  const told = tellingAfter(ended, onEffects)
  return {
    cancel: batched({
      keyOf: jobIdOf,
      run: async (requests: EndRequest[]) => told(requests, await cancel(hot, requests)),
    }),
    bury: batched({
      keyOf: jobIdOf,
      run: async (requests: EndRequest[]) => told(requests, await bury(hot, requests)),
    }),
  }
}

function reading(database: Database) {
  return {
    briefs: (jobIds: readonly string[]) => getBriefs(database.hot, jobIds),
    list: (filter: ListFilter) => listJobs(database, filter),
    count: () => countJobs(database),
    history: (job: Job) => historyOf(database, job),
    deleteOldKeys: (limit: number) => repair.deleteOldKeys(database, limit),
  }
}

function repairing(hot: Pool) {
  return {
    promoteDue: (limit: number) => repair.promoteDue(hot, limit),
    promote: (jobIds: readonly string[]) => repair.promote(hot, jobIds),
    nextDueMs: () => repair.nextDueMs(hot),
    findAbandoned: repair.openAbandonedFinder(hot),
    findWaiting: (filter: repair.WaitingFilter) => repair.findWaiting(hot, filter),
  }
}

const jobIdOf = (request: { jobId: string }): string => request.jobId

/** After a commit: tells who waits for the jobs that ended, and the outbox if there were effects. */
const tellingAfter =
  (ended: Ended, onEffects: () => void) =>
  <Request extends { jobId: string } & WithEffects, Answer extends { ok: boolean }>(
    requests: readonly Request[],
    answers: Answer[],
    ends: (answer: Answer) => boolean = (answer) => answer.ok,
  ): Answer[] => {
    const jobIds = requests.map(jobIdOf).filter((_, index) => {
      const answer = answers[index]
      return answer !== undefined && ends(answer)
    })
    if (jobIds.length > 0) ended.announce(jobIds)
    if (requests.some(({ effects }) => effects !== undefined && effects.length > 0)) onEffects()
    return answers
  }

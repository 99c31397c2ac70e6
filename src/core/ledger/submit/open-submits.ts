// The ways into the ledger: batching of submits, and the announcement of what they made ready.
import { batched } from '../../db/batch.ts'
import type { Tx } from '../../db/database.ts'
import { shortestDelay } from '../delays.ts'
import { topicsOf } from '../effects.ts'
import type { LedgerOptions } from '../ledger.ts'
import { submitOne, type AnnounceOne } from './insert-one.ts'
import { replay, type EffectsOfReplay } from './replay.ts'
import {
  findNamed,
  idempotencyName,
  freshOf,
  isLonePlainJob,
  nameIn,
  prepare,
  shareOutboxRow,
  submit,
  submitIn,
  type Idempotency,
  type NewJob,
  type PreparedJob,
  type Submitted,
} from './submit.ts'
import { openGuarded, type GuardedJobs, type GuardedStatement } from './submit-guarded.ts'

// Grace period in which the submitter announces a new job itself and deletes its outbox row. It takes milliseconds.
const OUTBOX_GRACE_MS = 5000

export function openSubmits(options: LedgerOptions) {
  const { database, onReady } = options
  const prepared = preparing(options)

  const announce = (jobs: readonly PreparedJob[], answers: readonly Submitted[], announcesFresh: boolean) => {
    const ready = freshOf(jobs, answers).filter((job) => job.delayMs === 0)
    const fresh = announcesFresh ? { jobs: ready, inOneOutboxRow: shareOutboxRow(jobs) } : undefined
    if (ready.length > 0) onReady(kindsOf(ready), fresh)
    const topics = topicsOf(jobs.flatMap(({ effects }) => effects))
    if (topics.length > 0) options.onOutbox(topics)
    const delayMs = shortestDelay(jobs.map((job) => job.delayMs))
    if (delayMs !== null) options.onDelayed?.(delayMs)
  }

  /** Null: the job takes the same way as many jobs. */
  const announceOne = (job: PreparedJob, announcesFresh: boolean): AnnounceOne | null => {
    const notify = options.hintWithin?.([job.kind]) ?? null
    if (notify !== null) return { notify }
    if (!announcesFresh) return null
    return {
      outboxGraceMs: OUTBOX_GRACE_MS,
      announce: () => onReady([job.kind], { jobs: [job], inOneOutboxRow: false }),
    }
  }

  const submitAll = async (jobs: readonly PreparedJob[]): Promise<Submitted[]> => {
    const announcesFresh = options.announcesFresh?.() ?? false
    if (isLonePlainJob(jobs)) {
      const by = announceOne(jobs[0], announcesFresh)
      if (by !== null) return [await submitOne(database.hot, jobs[0], { ageingSec: options.ageingSec, by })]
    }
    const outboxGraceMs = announcesFresh ? OUTBOX_GRACE_MS : 0
    const answers = await submit(database.hot, jobs, { ...options, outboxGraceMs })
    announce(jobs, answers, announcesFresh)
    return answers
  }

  const submitBatched = batched<PreparedJob, Submitted>({
    keyOf: (job) => (job.idempotency === null ? job.jobId : idempotencyName(job.idempotency)),
    sizeOf: (job) => job.payloadBytes,
    run: submitAll,
  })

  return {
    submit: (job: NewJob) => submitBatched(prepared(job)),
    submitMany: (jobs: readonly NewJob[]) => submitAll(jobs.map(prepared)),
    submitIn: (tx: Tx, jobs: readonly NewJob[]) => submitIn(tx, jobs.map(prepared), options),
    nameIn,
    findNamed: (idempotency: Idempotency) => findNamed(database.hot, idempotency),
    announce: (kinds: readonly string[]) => onReady(kinds),

    openGuarded<Answer extends object, Column extends string>(statement: GuardedStatement<Column>) {
      const submitGuarded = openGuarded<Answer, Column>(statement, options)
      return async ({ jobs, columns }: GuardedJobs<NewJob, Column>) => {
        const asked = jobs.map(prepared)
        const answers = await submitGuarded(database.hot, { jobs: asked, columns })
        onReady(kindsOf(asked))
        if (options.announceByOutbox) options.onOutbox(null)
        return answers
      }
    },

    async replay(jobId: string, effectsOf?: EffectsOfReplay) {
      const { answer, kind } = await database.transaction((tx) => replay(tx, jobId, { ...options, effectsOf }))
      if (kind !== null) onReady([kind])
      if (effectsOf !== undefined) options.onOutbox(null)
      return answer
    },
  }
}

const preparing =
  ({ maxAttempts, onSubmit }: LedgerOptions) =>
  (asked: NewJob): PreparedJob => {
    const job = prepare(asked, maxAttempts)
    onSubmit?.(job)
    for (const part of job.parts) onSubmit?.(part)
    return job
  }

const kindsOf = (jobs: readonly PreparedJob[]): string[] => [...new Set(jobs.map((job) => job.kind))]

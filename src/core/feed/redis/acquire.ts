// From an entry to a job. An entry is only a hint: the ledger decides who gets the job, and its answer decides what happens
// to the entry.
//
//   acquired                       → to the executor, which acknowledges when the attempt has ended
//   already_finished, unknown_job  → acknowledged: nobody needs it any more
//   lease_still_valid              → acknowledged if another entry of the job is pending, since that one belongs to the
//                                    running attempt; otherwise left pending: if the holder dies, it brings the job back
//   not_due, exhausted             → left pending, and claimed again after a lease; meanwhile the ledger announces the first
//                                    when it is due, and buries the second
//   a field is missing             → the job is buried, unless somebody works on it; the entry is acknowledged
//   the database failed            → kept in this process, and tried again before anything else is read
import type { AcquireAnswer } from '../../ledger/acquire.ts'
import type { Acquired } from '../../ledger/job.ts'
import { assertNever } from '../../values/outcome.ts'
import type { TakenJob } from '../feed.ts'
import type { Announcer } from './announcer.ts'
import type { SampledLog } from '../../log/sampled-log.ts'
import type { RedisFeedOptions } from './options.ts'
import type { AcquiredEntry } from './payloads.ts'
import type { Entry } from './streams.ts'

export interface AcquireDeps {
  options: RedisFeedOptions
  kind: string
  announcer: Announcer
  log: SampledLog
  acknowledge(entry: Entry): Promise<void>
  /** Acknowledges the entry if another entry of the same job is pending. */
  acknowledgeDuplicate(entry: Entry): Promise<void>
  restorePayloads(acquired: readonly AcquiredEntry[]): Promise<void>
}

/** One statement for all readable entries, then each by itself: an entry that fails must not cost the others their leases. */
export async function acquireEntries(
  deps: AcquireDeps,
  entries: readonly Entry[],
): Promise<{ taken: TakenJob[]; failed: Entry[]; error: unknown }> {
  const failed: Entry[] = []
  let error: unknown
  const answerOf = await acquireReadable(deps, entries).catch((problem: unknown) => {
    error = problem
    return null
  })
  const taken = await Promise.all(
    entries.map(async (entry) => {
      try {
        const answer = answerOf?.get(entry)
        if (!isReadable(entry)) return await buryUnreadable(deps, entry)
        if (answer === undefined) throw error
        return await settle(deps, entry, answer)
      } catch (problem) {
        count(deps, entry, 'error', 'db_error')
        failed.push(entry)
        error = problem
        return null
      }
    }),
  )
  if (answerOf !== null) void deps.restorePayloads(acquiredOf(answerOf))
  return { taken: taken.filter((one) => one !== null), failed, error }
}

const acquiredOf = (answerOf: ReadonlyMap<Entry, AcquireAnswer>): AcquiredEntry[] =>
  [...answerOf].flatMap(([{ id, payloadRef }, answer]) =>
    answer.ok ? [{ job: answer.job, entryId: id, payloadRef }] : [],
  )

type ReadableEntry = Entry & { jobId: string }

const isReadable = (entry: Entry): entry is ReadableEntry => entry.jobId !== null && !entry.isBroken

async function acquireReadable(
  { options }: AcquireDeps,
  entries: readonly Entry[],
): Promise<Map<Entry, AcquireAnswer>> {
  const { ledger, owner, leaseMs } = options
  const readable = entries.filter(isReadable)
  if (readable.length === 0) return new Map()
  const answers = await ledger().acquireMany(readable.map(({ jobId }) => ({ jobId, owner, leaseMs })))
  return new Map(answers.flatMap((answer, index) => (readable[index] === undefined ? [] : [[readable[index], answer]])))
}

/** Null: there is no work for this entry. */
async function settle(deps: AcquireDeps, entry: Entry, answer: AcquireAnswer): Promise<TakenJob | null> {
  const { kind, acknowledge } = deps
  count(deps, entry, answer.ok ? 'ok' : 'rejected', answer.ok ? '' : answer.code)
  if (answer.ok) {
    if (answer.job.kind === kind) return { job: answer.job, acknowledge: () => acknowledge(entry) }
    await requeueToOwnKind(deps, entry, answer.job)
    return null
  }
  switch (answer.code) {
    case 'already_finished':
    case 'unknown_job':
      await acknowledge(entry)
      return null
    case 'lease_still_valid':
      await deps.acknowledgeDuplicate(entry)
      return null
    case 'not_due':
    case 'exhausted':
      return null
    default:
      return assertNever(answer.code)
  }
}

type ClaimStatus = 'ok' | 'rejected' | 'error'

function count({ options: { metrics } }: AcquireDeps, entry: Entry, status: ClaimStatus, reason: string): void {
  const counter = entry.isReclaimed ? metrics.reclaims : metrics.claims
  counter.inc({ status, reason })
}

async function buryUnreadable(deps: AcquireDeps, entry: Entry): Promise<null> {
  const { ledger, bury } = deps.options
  const { jobId, id } = entry
  const reason = 'missing_field'
  if (jobId !== null) {
    const answer = await (bury === undefined ? ledger().bury({ jobId, reason }) : bury(jobId, reason))
    if (!answer.ok && answer.code === 'lease_still_valid') {
      count(deps, entry, 'rejected', answer.code)
      return null
    }
  }
  count(deps, entry, 'rejected', reason)
  deps.log.warn({ job_id: jobId, entry_id: id, reason }, 'unreadable entry')
  await deps.acknowledge(entry)
  return null
}

/** A job of another kind, in this stream by mistake: this executor cannot run it. */
async function requeueToOwnKind(
  { options, announcer, acknowledge, log }: AcquireDeps,
  entry: Entry,
  job: Acquired,
): Promise<void> {
  const { jobId, attemptId, owner, kind, traceId } = job
  log.warn(
    { job_id: jobId, attempt_id: attemptId, trace_id: traceId, entry_id: entry.id, kind },
    'entry in the stream of another kind',
  )
  await options.ledger().release({ jobId, attemptId, owner })
  await announcer.announce([job])
  await acknowledge(entry)
}

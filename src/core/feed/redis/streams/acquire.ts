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
import type { AcquireAnswer } from '../../../ledger/acquire.ts'
import type { Acquired } from '../../../ledger/job.ts'
import { assertNever } from '../../../values/outcome.ts'
import type { TakenJob } from '../../feed.ts'
import type { Announcer } from '../announcer.ts'
import type { SampledLog } from '../../../log/sampled-log.ts'
import type { RedisFeedOptions } from '../options.ts'
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
  const taken = takenOf(deps, answerOf)
  const others = entries.filter((entry) => !taken.has(entry))
  await Promise.all(
    others.map(async (entry) => {
      try {
        const answer = answerOf?.get(entry)
        if (!isReadable(entry)) return await buryUnreadable(deps, entry)
        if (answer === undefined) throw error
        return await settle(deps, entry, answer)
      } catch (problem) {
        count(deps, entry, { status: 'error', reason: 'db_error' })
        failed.push(entry)
        error = problem
      }
    }),
  )
  if (answerOf !== null) void deps.restorePayloads(withoutPayload(answerOf))
  return { taken: [...taken.values()], failed, error }
}

/** What nearly all entries lead to. They are counted together. */
function takenOf(deps: AcquireDeps, answerOf: ReadonlyMap<Entry, AcquireAnswer> | null): Map<Entry, TakenJob> {
  const taken = new Map<Entry, TakenJob>()
  let reclaimed = 0
  for (const [entry, answer] of answerOf ?? []) {
    if (!answer.ok || answer.job.kind !== deps.kind) continue
    taken.set(entry, { job: answer.job, acknowledge: () => deps.acknowledge(entry) })
    if (entry.isReclaimed) reclaimed += 1
  }
  const { claims, reclaims } = deps.options.metrics
  if (taken.size > reclaimed) claims.inc(TAKEN, taken.size - reclaimed)
  if (reclaimed > 0) reclaims.inc(TAKEN, reclaimed)
  return taken
}

const withoutPayload = (answerOf: ReadonlyMap<Entry, AcquireAnswer>): AcquiredEntry[] =>
  [...answerOf].flatMap(([{ id, payloadRef, hasPayload }, answer]) =>
    answer.ok && !hasPayload ? [{ job: answer.job, entryId: id, payloadRef }] : [],
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

/** There is no work for this entry. */
async function settle(deps: AcquireDeps, entry: Entry, answer: AcquireAnswer): Promise<void> {
  count(deps, entry, answer.ok ? TAKEN : { status: 'rejected', reason: answer.code })
  if (answer.ok) return requeueToOwnKind(deps, entry, answer.job)
  switch (answer.code) {
    case 'already_finished':
    case 'unknown_job':
      return deps.acknowledge(entry)
    case 'lease_still_valid':
      return deps.acknowledgeDuplicate(entry)
    case 'not_due':
    case 'exhausted':
      return
    default:
      return assertNever(answer.code)
  }
}

interface ClaimLabels {
  status: 'ok' | 'rejected' | 'error'
  reason: string
}

const TAKEN = { status: 'ok', reason: '' } as const

function count({ options: { metrics } }: AcquireDeps, entry: Entry, { status, reason }: ClaimLabels): void {
  const counter = entry.isReclaimed ? metrics.reclaims : metrics.claims
  counter.inc({ status, reason })
}

async function buryUnreadable(deps: AcquireDeps, entry: Entry): Promise<void> {
  const { ledger, bury } = deps.options
  const { jobId, id } = entry
  const reason = 'missing_field'
  if (jobId !== null) {
    const answer = await (bury === undefined ? ledger().bury({ jobId, reason }) : bury(jobId, reason))
    if (!answer.ok && answer.code === 'lease_still_valid') {
      count(deps, entry, { status: 'rejected', reason: answer.code })
      return
    }
  }
  count(deps, entry, { status: 'rejected', reason })
  deps.log.warn({ job_id: jobId, entry_id: id, reason }, 'unreadable entry')
  await deps.acknowledge(entry)
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

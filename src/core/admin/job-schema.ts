// The wire format of a job for admins.
import { Type, type Static } from 'typebox'
import { HttpError } from '../http/errors/http-error.ts'
import type { HistoryEntry } from '../ledger/history.ts'
import { parseJobId, type Job } from '../ledger/job.ts'
import type { JobSummary as JobSummaryOf } from '../ledger/search.ts'
import { JOB_STATES } from '../ledger/read.ts'

const Moment = Type.String({ format: 'date-time' })
const maybe = <S extends typeof Moment | ReturnType<typeof Type.Integer>>(schema: S) =>
  Type.Union([schema, Type.Null()])

export const JobState = Type.Enum([...JOB_STATES])

export const JobPath = Type.Object({ id: Type.String({ maxLength: 512 }) })

export const JobSummary = Type.Object({
  job_id: Type.String({ format: 'uuid' }),
  kind: Type.String(),
  state: JobState,
  priority: Type.Integer(),
  attempt_id: Type.Integer({ description: '0: not started.' }),
  max_attempts: maybe(Type.Integer()),
  reason: maybe(Type.String()),
  account_id: maybe(Type.Integer()),
  lease_owner: maybe(Type.String()),
  lease_until: maybe(Moment),
  trace_id: maybe(Type.String()),
  replay_of: maybe(Type.String()),
  due_at: maybe(Moment),
  submitted_at: Moment,
  started_at: maybe(Moment),
  finished_at: maybe(Moment),
})

export const JobDetail = Type.Object({
  ...JobSummary.properties,
  payload: Type.Unknown(),
  result: Type.Unknown(),
  history: Type.Array(
    Type.Object({
      at: Moment,
      what: Type.String(),
      attempt_id: Type.Integer(),
      owner: maybe(Type.String()),
      detail: maybe(Type.String()),
    }),
  ),
})

export const summaryOf = (job: JobSummaryOf): Static<typeof JobSummary> => ({
  job_id: job.jobId,
  kind: job.kind,
  state: job.state,
  priority: job.priority,
  attempt_id: job.attemptId,
  max_attempts: job.maxAttempts,
  reason: job.reason,
  account_id: job.accountId,
  lease_owner: job.leaseOwner,
  lease_until: iso(job.leaseUntil),
  trace_id: job.traceId,
  replay_of: job.replayOf,
  due_at: iso(job.dueAt),
  submitted_at: job.submittedAt.toISOString(),
  started_at: iso(job.startedAt),
  finished_at: iso(job.finishedAt),
})

export const detailOf = (job: Job, history: readonly HistoryEntry[]): Static<typeof JobDetail> => ({
  ...summaryOf(job),
  payload: job.payload,
  result: job.result,
  history: history.map(({ at, what, attemptId, owner, detail }) => ({
    at: at.toISOString(),
    what,
    attempt_id: attemptId,
    owner,
    detail,
  })),
})

const iso = (moment: Date | null): string | null => moment?.toISOString() ?? null

export const unknownJob = () => new HttpError(404, 'not_found', 'Job not found')

/** The job that a path names, which may not exist. */
export function jobIdOf(text: string): string {
  const jobId = parseJobId(text)
  if (jobId === null) throw unknownJob()
  return jobId
}

// A submission as its owner sees it, with the states of docs/judge.md, clause 2.4: PENDING, DISPATCHED, RUNNING, FINISHED.
import { Type } from 'typebox'
import { FEED_TOPIC } from '../../../core/ledger/submit/insert-jobs.ts'
import type { Outbox } from '../../../core/outbox/outbox.ts'
import type { Job } from '../../../core/ledger/job.ts'
import { payloadFrom } from './payload.ts'
import { resultFrom } from './result.ts'
import { STATUS_TEXT } from './verdict.ts'

export type Status = 'PENDING' | 'DISPATCHED' | 'RUNNING' | 'FINISHED'

const Moment = Type.Union([Type.String(), Type.Null()])
const OptionalText = Type.Optional(Type.String())

const TestView = Type.Object({
  name: Type.String(),
  verdict: Type.String(),
  time_ms: Type.Number(),
  mem_kb: Type.Number(),
  message: OptionalText,
  input: Type.Optional(Type.String({ description: 'Of a sample, as the three that follow.' })),
  expected: OptionalText,
  output: OptionalText,
  stderr: OptionalText,
})

export const SubmissionView = Type.Object({
  job_id: Type.String(),
  status: Type.String({ description: 'PENDING, DISPATCHED, RUNNING or FINISHED.' }),
  attempt_id: Type.Integer(),
  problem_id: Type.String(),
  language: Type.String(),
  submitted_at: Type.String(),
  finished_at: Moment,
  verdict: Type.Optional(Type.String({ description: 'AC, WA, TLE, MLE, OLE, RE, CE or SE, when finished.' })),
  status_text: OptionalText,
  time_ms: Type.Optional(Type.Number()),
  mem_kb: Type.Optional(Type.Number()),
  score: Type.Optional(Type.Number()),
  groups: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.String(),
        verdict: Type.String(),
        score: Type.Number(),
        max_score: Type.Union([Type.Number(), Type.Null()]),
      }),
    ),
  ),
  tests: Type.Optional(Type.Array(TestView)),
  compile_output: OptionalText,
  reason: Type.Optional(Type.String({ description: 'Why the verdict is SE.' })),
  own_input: Type.Optional(Type.Boolean({ description: 'A run on an input of its own: nothing was compared.' })),
  degraded: Type.Optional(Type.Boolean({ description: 'Judged without cgroups: limits were less exact.' })),
  code: OptionalText,
})

export interface ViewOptions {
  /** With Redis as the feed: the job is in the stream, or its announcement is still in the outbox. */
  isAnnounced(jobId: string): Promise<boolean>
  withCode: boolean
}

export async function viewOf(job: Job, { isAnnounced, withCode }: ViewOptions) {
  const { jobId, attemptId, submittedAt, finishedAt, payload, result, reason } = job
  const asked = payloadFrom(payload)
  const status = await statusOf(job, isAnnounced)
  return {
    job_id: jobId,
    status,
    attempt_id: attemptId,
    problem_id: asked?.problem_id ?? '',
    language: asked?.language ?? '',
    submitted_at: submittedAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
    ...(asked?.input === undefined ? {} : { own_input: true }),
    ...(status === 'FINISHED' ? endOf(result, reason) : {}),
    ...(withCode && asked !== null ? { code: asked.code } : {}),
  }
}

/** A job that died was not judged: it is the system's fault, and the reason says which. */
function endOf(stored: unknown, reason: string | null) {
  const result = resultFrom(stored)
  if (result !== null) return { ...result, status_text: STATUS_TEXT[result.verdict] }
  const why = reason ?? 'unknown'
  return { verdict: 'SE' as const, status_text: STATUS_TEXT.SE, time_ms: 0, mem_kb: 0, tests: [], reason: why }
}

async function statusOf(job: Job, isAnnounced: ViewOptions['isAnnounced']): Promise<Status> {
  switch (job.state) {
    case 'done':
    case 'dead':
      return 'FINISHED'
    case 'processing':
      return 'RUNNING'
    case 'pending':
      if (job.dueAt !== null) return 'PENDING' // waits for its next attempt
      return (await isAnnounced(job.jobId)) ? 'DISPATCHED' : 'PENDING'
  }
}

/** The PostgreSQL feed has no announcements: a submission is pending until a worker takes it. */
export const announcedIn =
  (outbox: Pick<Outbox, 'isPending'>, hasStreams: boolean): ViewOptions['isAnnounced'] =>
  async (jobId) =>
    hasStreams && !(await outbox.isPending(FEED_TOPIC, jobId))

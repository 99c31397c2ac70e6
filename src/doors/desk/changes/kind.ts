// The kind of job that a task is. People do the work: no process runs it. An admin may cancel or replay the job like any other, and
// the task follows.
import { Type, type Static } from 'typebox'
import { Check } from 'typebox/value'
import type { Clock } from '../../../core/clock.ts'
import type { Kind, WatchedJob } from '../../../core/executor/kind.ts'
import type { Job } from '../../../core/ledger/job.ts'
import { releaseTaskless } from '../tasks/retention.ts'
import type { Changes } from './change.ts'
import { cancelled, replayed, type JobTask } from './end-changes.ts'

export const DESK_KIND = 'desk'

/** All that the ledger keeps of a task: nothing that an admin who reads jobs should not see. */
const DeskPayload = Type.Object({
  task_id: Type.String(),
  uuid: Type.String({ format: 'uuid' }),
  domain: Type.String(),
  callback_url: Type.Optional(Type.String()),
  /** The job of another door that waits for the answer. */
  asked_by: Type.Optional(Type.String()),
})
export type DeskPayload = Static<typeof DeskPayload>

export const deskKind = ({ changes, clock }: { changes: Changes; clock: Clock }): Kind => ({
  name: DESK_KIND,
  releaseOld: releaseTaskless,
  contextOf: async (jobs) => new Map(jobs.map((job) => [job.jobId, { dependents: askedBy(job) }])),
  effectsOfDeath(job, reason) {
    const task = taskOf(job, clock)
    return task === null ? [] : changes.effectsElsewhere(cancelled(task, 'admin', reason))
  },
  effectsOfReplay(job, newJobId) {
    const task = taskOf(job, clock)
    return task === null ? [] : changes.effectsElsewhere(replayed(task, newJobId))
  },
})

const askedBy = ({ payload }: WatchedJob): string[] =>
  Check(DeskPayload, payload) && payload.asked_by !== undefined ? [payload.asked_by] : []

/** Null: a job of this kind that was submitted without a task. */
function taskOf({ jobId, payload, accountId }: Pick<Job, 'jobId' | 'payload' | 'accountId'>, clock: Clock) {
  if (!Check(DeskPayload, payload) || accountId === null) return null
  const { task_id: id, uuid, domain, callback_url: callbackUrl = null } = payload
  return {
    id,
    uuid,
    domain,
    account_id: String(accountId),
    job_id: jobId,
    callback_url: callbackUrl,
    now: new Date(clock.now()),
  } satisfies JobTask
}

// How far the judging of a submission is, from its events, and the job of another door that waits for its verdict.
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Events } from '../../../core/events/events.ts'
import type { JobProgress } from '../../../core/executor/job-context.ts'
import type { Kind } from '../../../core/executor/kind.ts'
import { payloadFrom } from './payload.ts'
import { channelOf } from './progress.ts'

// An event holds what a tenth of a second brought.
const EVENTS_MAX = 1000

const Told = Compile(
  Type.Object({
    attempt_id: Type.Integer(),
    total: Type.Union([Type.Integer(), Type.Null()]),
    tests: Type.Array(Type.Unknown()),
  }),
)

export const submissionContexts =
  (events: Pick<Events, 'since'>): NonNullable<Kind['contextOf']> =>
  async (jobs) => {
    const contexts = jobs.map(async ({ jobId, payload, state }) => {
      const askedBy = payloadFrom(payload)?.asked_by
      const progress = state === 'processing' ? await progressOf(events, jobId) : null
      return [jobId, { progress, dependents: askedBy === undefined ? [] : [askedBy] }] as const
    })
    return new Map(await Promise.all(contexts))
  }

/** Of the last attempt: it begins anew. */
async function progressOf(events: Pick<Events, 'since'>, jobId: string): Promise<JobProgress | null> {
  const told = (await events.since(channelOf(jobId), 0, EVENTS_MAX)).flatMap(({ payload }) =>
    Told.Check(payload) ? [payload] : [],
  )
  const last = told.at(-1)
  if (last === undefined) return null
  const ofLast = told.filter(({ attempt_id: attempt }) => attempt === last.attempt_id)
  const done = ofLast.reduce((sum, { tests }) => sum + tests.length, 0)
  return { done, total: last.total, unit: 'tests' }
}

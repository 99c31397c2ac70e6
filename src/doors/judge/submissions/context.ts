// How far the judging of a submission is, from its events, and the job of another door that waits for its verdict.
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Events } from '../../../core/events/events.ts'
import type { JobProgress } from '../../../core/executor/job-context.ts'
import type { Kind } from '../../../core/executor/kind.ts'
import { payloadFrom } from './payload.ts'
import { channelOf } from './progress.ts'

// An event holds what a tenth of a second brought.
const EVENTS_AT_ONCE = 1000
const TALLIES_MAX = 200

const Told = Compile(
  Type.Object({
    attempt_id: Type.Integer(),
    total: Type.Union([Type.Integer(), Type.Null()]),
    tests: Type.Array(Type.Unknown()),
  }),
)

/** What the events up to `lastId` say of the last attempt: it begins anew. */
interface ProgressTally {
  lastId: number
  attemptId: number
  done: number
  total: number | null
}

const NOTHING_TOLD: ProgressTally = { lastId: 0, attemptId: 0, done: 0, total: null }

export function submissionContexts(events: Pick<Events, 'since'>): NonNullable<Kind['contextOf']> {
  // A page asks every second, and only what came since is read. Events are visible in the order of their ids.
  const tallies = new Map<string, ProgressTally>()
  const progressOf = async (jobId: string): Promise<JobProgress | null> => {
    const tally = await tallyOf(events, jobId, tallies.get(jobId) ?? NOTHING_TOLD)
    tallies.delete(jobId) // it becomes the youngest
    tallies.set(jobId, tally)
    const [oldest] = tallies.keys()
    if (tallies.size > TALLIES_MAX && oldest !== undefined) tallies.delete(oldest)
    return tally.attemptId === 0 ? null : { done: tally.done, total: tally.total, unit: 'tests' }
  }
  return async (jobs) => {
    const contexts = jobs.map(async ({ jobId, payload, state }) => {
      const askedBy = payloadFrom(payload)?.asked_by
      const progress = state === 'processing' ? await progressOf(jobId) : null
      return [jobId, { progress, dependents: askedBy === undefined ? [] : [askedBy] }] as const
    })
    return new Map(await Promise.all(contexts))
  }
}

async function tallyOf(events: Pick<Events, 'since'>, jobId: string, known: ProgressTally): Promise<ProgressTally> {
  let tally = known
  for (;;) {
    const page = await events.since(channelOf(jobId), tally.lastId, EVENTS_AT_ONCE)
    tally = page.reduce((before, { id, payload }) => withEvent({ ...before, lastId: id }, payload), tally)
    if (page.length < EVENTS_AT_ONCE) return tally
  }
}

function withEvent(tally: ProgressTally, payload: unknown): ProgressTally {
  if (!Told.Check(payload) || payload.attempt_id < tally.attemptId) return tally
  const { attempt_id: attemptId, total, tests } = payload
  const before = attemptId === tally.attemptId ? tally.done : 0
  return { ...tally, attemptId, total, done: before + tests.length }
}

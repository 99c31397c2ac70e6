// What jobs are searched by, on the wire.
import { Type, type Static } from 'typebox'
import { firstIdAt, JOB_ID } from '../ledger/job.ts'
import type { JobSearch } from '../ledger/search.ts'
import { JobState } from './job-schema.ts'

const JobId = Type.String({ format: 'uuid', pattern: JOB_ID.source })
const Moment = Type.String({ format: 'date-time', maxLength: 40 })

export const JobFilterFields = {
  kind: Type.Optional(Type.String({ maxLength: 100 })),
  state: Type.Optional(JobState),
  account_id: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  owner: Type.Optional(Type.String({ maxLength: 200, description: 'Who holds or held it.' })),
  trace_id: Type.Optional(Type.String({ maxLength: 100 })),
  reason: Type.Optional(Type.String({ maxLength: 200, description: 'A part of the reason of a dead job.' })),
  priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 9 })),
  delayed: Type.Optional(Type.Boolean({ description: 'Waits for its time or for its next attempt.' })),
  submitted_after: Type.Optional(Moment),
  submitted_before: Type.Optional(Moment),
  before: Type.Optional(JobId),
} as const

const JobFilterObject = Type.Object(JobFilterFields)
export type WireJobFilter = Static<typeof JobFilterObject>

export function searchOf(filter: WireJobFilter): JobSearch {
  const { account_id: accountId, trace_id: traceId, delayed: isDelayed, kind, state, owner, reason, priority } = filter
  const { submitted_after: after, submitted_before: until } = filter
  const bounds = [filter.before, until === undefined ? undefined : firstIdAt(Date.parse(until))].filter(
    (id) => id !== undefined,
  )
  const before = bounds.toSorted()[0]
  const since = after === undefined ? undefined : firstIdAt(Date.parse(after))
  return { kind, state, accountId, owner, traceId, reason, priority, isDelayed, before, since }
}

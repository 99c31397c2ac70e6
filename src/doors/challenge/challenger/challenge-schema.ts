// A challenge as its owner sees it, with its results, deliveries and callbacks. No other account can see it.
import { Type, type Static } from 'typebox'
import type { ChallengeRow } from './challenge-store.ts'

const Moment = Type.Union([Type.String(), Type.Null()])

export const ChallengeView = Type.Object({
  challenge_id: Type.String(),
  state: Type.String({ description: 'created, sending, accepted, send_failed, deadline_passed or completed.' }),
  problem: Type.Unknown(),
  output_spec: Type.Unknown(),
  constraints: Type.Unknown(),
  validation_rule: Type.Unknown(),
  answer: Type.String({ description: 'Only to its owner.' }),
  solver_job_id: Type.Union([Type.String(), Type.Null()]),
  created_at: Moment,
  sent_at: Moment,
  completed_at: Moment,
})

const NullableText = Type.Union([Type.String(), Type.Null()])
const StoredTime = Type.Unsafe<Date>({ type: 'string', format: 'date-time' })

const ResultView = Type.Object({
  request_id: Type.String(),
  status: Type.String(),
  answer: NullableText,
  error_code: NullableText,
  error_message: NullableText,
  is_correct: Type.Union([Type.Boolean(), Type.Null()], { description: 'Null: there was no answer to check.' }),
  rule: Type.String(),
  is_final: Type.Boolean({ description: 'The first result, which completed the challenge.' }),
  solver_job_id: NullableText,
  metadata: Type.Unknown(),
  created_at: StoredTime,
})

const AttemptView = Type.Object(
  {
    direction: Type.Literal('send'),
    request_id: Type.String(),
    attempt: Type.Integer(),
    url: Type.String(),
    status_code: Type.Union([Type.Integer(), Type.Null()]),
    error: NullableText,
    cause: NullableText,
    peer_code: NullableText,
    duration_ms: Type.Integer(),
    created_at: StoredTime,
  },
  { additionalProperties: true },
)

const CallbackView = Type.Object({
  request_id: Type.String(),
  headers: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
  body_hash: Type.String(),
  status_code: Type.Integer(),
  outcome: Type.String({ description: 'recorded, duplicate, conflict or refused.' }),
  created_at: StoredTime,
})

export const ChallengeStory = Type.Object({
  ...ChallengeView.properties,
  results: Type.Array(ResultView),
  deliveries: Type.Array(AttemptView),
  callbacks: Type.Array(CallbackView),
})

export type ResultRow = Static<typeof ResultView>
export type CallbackRow = Static<typeof CallbackView>

const isoOf = (moment: Date | null): string | null => moment?.toISOString() ?? null

export const viewOf = (row: ChallengeRow) => ({
  challenge_id: row.challenge_id,
  state: row.state,
  problem: row.problem,
  output_spec: row.output_spec,
  constraints: row.constraints,
  validation_rule: row.validation_rule,
  answer: row.answer,
  solver_job_id: row.solver_job_id,
  created_at: isoOf(row.created_at),
  sent_at: isoOf(row.sent_at),
  completed_at: isoOf(row.completed_at),
})

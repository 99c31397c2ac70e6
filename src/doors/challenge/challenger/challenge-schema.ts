// A challenge as its owner sees it. No other account can see it.
import { Type } from 'typebox'
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

// What the serving thread and the judge thread say to each other. Everything is plain data.
import type { ExecResult } from '../metrics.ts'
import type { ProtocolReason } from '../sandbox/sandbox-error.ts'
import type { JudgePayload } from '../submissions/payload.ts'
import type { JudgeResult, TestLine } from '../submissions/result.ts'

export interface JudgeRequest {
  jobId: string
  attemptId: number
  traceId: string
  payload: JudgePayload
}

export type ToJudge =
  | ({ type: 'judge'; id: number } & JudgeRequest)
  /** The lease is lost: the answer is `interrupted`. */
  | { type: 'interrupt'; id: number }
  /** Whether the validator of the package in this folder compiles. */
  | { type: 'check'; id: number; folder: string }
  | { type: 'prune' }
  | { type: 'close' }

/** Why there is no result. `final`: no further attempt will help. */
export type NotJudged = { why: 'failed'; message: string; final: boolean } | { why: 'interrupted' }

/** Several go in one message, in their order. */
export type FromJudge =
  | { type: 'ready'; versions: [language: string, version: string][] }
  | { type: 'not_ready'; message: string }
  | { type: 'running'; id: number; tests: number }
  | { type: 'test'; id: number; line: TestLine }
  | { type: 'judged'; id: number; result: JudgeResult }
  | ({ type: 'not_judged'; id: number } & NotJudged)
  /** `fault`: what to fix in the package; null: nothing. */
  | { type: 'checked'; id: number; fault: string | null }
  | { type: 'log'; line: string }
  | { type: 'run_started' }
  | { type: 'run_ended'; result: ExecResult | null; seconds: number }
  | { type: 'box_closed'; seconds: number }
  | { type: 'protocol_error'; reason: ProtocolReason }
  | { type: 'truncated'; stream: 'stdout' | 'stderr' }
  | { type: 'cache_lookup'; outcome: 'hit' | 'miss' }
  | { type: 'closed' }

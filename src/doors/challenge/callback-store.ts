// What a callback changes, in one transaction: the nonce is burnt, the result recorded, the challenge completed by the
// first of them, and the audit written.
import type { Database, Tx } from '../../core/database.ts'
import { refused, type Refused } from '../../core/outcome.ts'
import { burn } from './nonces.ts'

// Two callbacks of one challenge are judged one after the other: which was first decides which is final.
const LOCK = `select state from challenges where challenge_id = $1 for update`

const INSERT_RESULT = `
  insert into challenge_results (challenge_id, request_id, solver_job_id, status, answer, error_code, error_message,
                                 is_correct, rule, metadata, body_hash, is_final)
  select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
         not exists (select from challenge_results where challenge_id = $1 and is_final)
      on conflict (challenge_id, request_id) do nothing
  returning is_final`

const SELECT_HASH = `select body_hash from challenge_results where challenge_id = $1 and request_id = $2`

const COMPLETE = `
  update challenges
     set state = 'completed', completed_at = clock_timestamp(), solver_job_id = coalesce($2, solver_job_id)
   where challenge_id = $1 and completed_at is null`

const AUDIT = `
  insert into challenge_webhooks (challenge_id, request_id, headers, body_hash, status_code, outcome)
  values ($1, $2, $3, $4, $5, $6)`

export interface CallbackResult {
  challengeId: string
  requestId: string
  solverJobId: string | null
  status: string
  answer: string | null
  errorCode: string | null
  errorMessage: string | null
  metadata: unknown
  bodyHash: string
  headers: Record<string, string>
  isCorrect: boolean | null
  rule: string
}

export type Recorded = { ok: true; isDuplicate: boolean } | Refused<'replayed'>

export const recordCallback = (database: Database, nonce: string, result: CallbackResult): Promise<Recorded> =>
  database.transaction(async (tx) => {
    const burnt = await burn(tx, 'challenger', [nonce])
    if (!burnt.has(nonce)) return refused('replayed')
    await tx.query(LOCK, [result.challengeId])
    const outcome = await record(tx, result)
    await tx.query(AUDIT, [
      result.challengeId,
      result.requestId,
      JSON.stringify(result.headers),
      result.bodyHash,
      200,
      outcome,
    ])
    return { ok: true, isDuplicate: outcome !== 'recorded' }
  })

export interface RefusedCallback {
  challengeId: string
  requestId: string
  headers: Record<string, string>
  bodyHash: string
  statusCode: number
}

export async function auditRefusal(tx: Tx, refusal: RefusedCallback): Promise<void> {
  const { challengeId, requestId, headers, bodyHash, statusCode } = refusal
  await tx.query(AUDIT, [challengeId, requestId, JSON.stringify(headers), bodyHash, statusCode, 'refused'])
}

async function record(tx: Tx, result: CallbackResult): Promise<'recorded' | 'duplicate' | 'conflict'> {
  const { challengeId, requestId } = result
  const [inserted] = await tx.query<{ is_final: boolean }>(INSERT_RESULT, [
    challengeId,
    requestId,
    result.solverJobId,
    result.status,
    result.answer,
    result.errorCode,
    result.errorMessage,
    result.isCorrect,
    result.rule,
    JSON.stringify(result.metadata),
    result.bodyHash,
  ])
  if (inserted !== undefined) {
    if (inserted.is_final) await tx.query(COMPLETE, [challengeId, result.solverJobId])
    return 'recorded'
  }
  const [known] = await tx.query<{ body_hash: string }>(SELECT_HASH, [challengeId, requestId])
  return known?.body_hash === result.bodyHash ? 'duplicate' : 'conflict'
}

// What a callback changes, in one transaction that all callbacks arriving together share: the nonce is burnt, the result
// recorded, the challenge completed by its first result, and the audit row written.
import { batched } from '../../../core/db/batch.ts'
import type { Database, Tx } from '../../../core/db/database.ts'
import { jsonInTurns } from '../../../core/values/json-pieces.ts'
import { hideFromPlanner } from '../../../core/db/sql.ts'
import { nonceRows, type Nonce, type NonceVerdict } from '../signing/nonces.ts'

// Callbacks of one challenge are recorded one after the other: which was first decides which is final. The lock is a
// statement of its own, so that RECORD sees what the transaction before it committed. $2: allowed clock skew.
const BURN_AND_LOCK = `
  with asked as materialized (
    select r.*, abs(date_part('epoch', clock_timestamp()) - ts) <= $2
                  and coalesce(date_part('epoch', clock_timestamp()) * 1000 <= not_after_ms, true) as is_fresh
      from json_to_recordset($1) as r (place integer, is_first boolean, nonce text, ts bigint, not_after_ms float8,
           challenge_id text)
  ), burnt as (
    insert into challenge_nonces (side, nonce)
    select 'challenger', nonce from asked where is_fresh and is_first order by nonce
        on conflict do nothing
    returning nonce as burnt_nonce
  ), locked as materialized (
    select c.challenge_id
      from asked
      join burnt on burnt_nonce = asked.nonce and asked.is_first
      join challenges c on c.challenge_id = asked.challenge_id
     order by c.challenge_id for update of c
  )
  select case when burnt_nonce is not null then 'burnt'
              when is_fresh then 'seen'
              when (select true from challenge_nonces as known
                     where known.side = 'challenger' and known.nonce = asked.nonce) then 'seen'
              else 'stale' end as verdict,
         (select count(*) from locked) as locked
    from asked left join burnt on burnt_nonce = asked.nonce and asked.is_first
   order by place`

const RECORD = `
  with asked as materialized (
    select * from json_to_recordset($1) as r (place integer, challenge_id text, request_id text, solver_job_id text,
      status text, answer text, error_code text, error_message text, is_correct boolean, rule text, metadata json,
      body_hash text, bytes integer, headers json)
     where place = any($2)
  ), inserted as (
    insert into challenge_results (challenge_id, request_id, solver_job_id, status, answer, error_code, error_message,
                                   is_correct, rule, metadata, body_hash, bytes, is_final)
    select challenge_id, request_id, solver_job_id, status, answer, error_code, error_message, is_correct, rule, metadata,
           body_hash, bytes, (select true from challenge_results f where f.challenge_id = asked.challenge_id and f.is_final) is null
      from asked order by challenge_id
        on conflict (challenge_id, request_id) do nothing
    returning challenge_id, solver_job_id, is_final
  ), completed as (
    update challenges
       set state = 'completed', completed_at = clock_timestamp(),
           solver_job_id = coalesce(inserted.solver_job_id, challenges.solver_job_id)
      from inserted
     where challenges.challenge_id = inserted.challenge_id and ${hideFromPlanner('inserted.is_final and completed_at is null')}
  ), recorded as materialized (
    select asked.*, case when inserted.challenge_id is not null then 'recorded'
                         when known.body_hash = asked.body_hash then 'duplicate'
                         else 'conflict' end as outcome
      from asked
      left join inserted using (challenge_id)
      left join challenge_results known
        on known.challenge_id = asked.challenge_id and known.request_id = asked.request_id
  ), audited as (
    insert into challenge_webhooks (challenge_id, request_id, headers, body_hash, status_code, outcome)
    select challenge_id, request_id, headers, body_hash, 200, outcome from recorded order by place
  )
  select place, outcome from recorded order by place`

const AUDIT = `
  insert into challenge_webhooks (challenge_id, request_id, headers, body_hash, status_code, outcome)
  values ($1, $2, $3, $4, $5, $6)`

const ROWS_MAX = 250 // the parts of the statements are joined by nested loops

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

export interface CallbackRecording {
  nonce: Nonce
  result: CallbackResult
  /** Size of the request's body. */
  bytes: number
}

export interface CallbackRecord {
  /** Anything but `burnt`: nothing has changed. */
  verdict: NonceVerdict
  /** `conflict`: the same request id with another body. */
  outcome: 'recorded' | 'duplicate' | 'conflict' | null
}

/** Two callbacks of one challenge never share a transaction: the second is recorded after the first. */
export function openRecording(
  database: Database,
  skewSec: number,
): (recording: CallbackRecording) => Promise<CallbackRecord> {
  return batched<CallbackRecording, CallbackRecord>({
    rowsMax: ROWS_MAX,
    keyOf: ({ result }) => result.challengeId,
    sizeOf: ({ bytes }) => bytes,
    async run(asked) {
      const bytes = asked.reduce((sum, recording) => sum + recording.bytes, 0)
      const results = await jsonInTurns(
        asked.map(({ result, bytes }, place) => ({ bytes, ...rowOf(result, place) })),
        bytes,
      )
      return database.hot.transaction(async (tx) => {
        const rows = nonceRows(asked.map(({ nonce }) => nonce)).map((row, place) => ({
          challenge_id: asked[place]?.result.challengeId,
          ...row,
        }))
        const checked = await tx.query<{ verdict: NonceVerdict }>(BURN_AND_LOCK, [JSON.stringify(rows), skewSec])
        const good = checked.flatMap(({ verdict }, place) => (verdict === 'burnt' ? [place] : []))
        const outcomes = await record(tx, results, good)
        return checked.map(({ verdict }, place) => ({ verdict, outcome: outcomes.get(place) ?? null }))
      })
    },
  })
}

async function record(
  tx: Tx,
  results: string | Buffer,
  good: readonly number[],
): Promise<Map<number, CallbackRecord['outcome']>> {
  if (good.length === 0) return new Map()
  const recorded = await tx.query<{ place: number; outcome: CallbackRecord['outcome'] }>(RECORD, [results, good])
  return new Map(recorded.map(({ place, outcome }) => [place, outcome]))
}

const rowOf = (result: CallbackResult, place: number) => ({
  place,
  challenge_id: result.challengeId,
  request_id: result.requestId,
  solver_job_id: result.solverJobId,
  status: result.status,
  answer: result.answer,
  error_code: result.errorCode,
  error_message: result.errorMessage,
  is_correct: result.isCorrect,
  rule: result.rule,
  metadata: result.metadata,
  body_hash: result.bodyHash,
  headers: result.headers,
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

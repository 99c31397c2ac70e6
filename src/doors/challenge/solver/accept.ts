// What POST /solve changes, in one statement that all requests arriving together share: the nonce is burnt, the request is
// stored and the job is created. The ledger adds the insert into its own table (core/ledger/submit/submit-guarded.ts).
import { batched } from '../../../core/db/batch.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { newJobId } from '../../../core/random.ts'
import type { Constraints } from './constraints.ts'
import { nonceRows, type Nonce, type NonceVerdict } from '../signing/nonces.ts'
import type { TraceContext } from '../../../core/traces/context.ts'

// Rows are inserted in order, so that two servers that accept the same challenges cannot deadlock. A nonce that comes twice
// belongs to its first request (`is_first`); a challenge that comes twice is inserted once. A nonce that was used before is
// reported as seen even if its timestamp is stale. (It is looked up by `select true`: the planner may turn an `exists` into
// a scan of all nonces.) `createJobs` is the ledger's part: it creates the jobs of the rows in `accepted`.
const acceptSql = (skewSec: number) => (createJobs: string) =>
  `
  with asked as materialized (
    select r.*, abs(date_part('epoch', clock_timestamp()) - ts) <= ${skewSec}
                  and coalesce(date_part('epoch', clock_timestamp()) * 1000 <= not_after_ms, true) as is_fresh
      from json_to_recordset($1) as r (place integer, is_first boolean, nonce text, ts bigint, not_after_ms float8,
           job_id uuid, challenge_id text, callback_url text)
  ), burnt as (
    insert into challenge_nonces (side, nonce)
    select 'solver', nonce from asked where is_fresh and is_first order by nonce
        on conflict do nothing
    returning nonce
  ), accepted as (
    insert into solve_requests (challenge_id, job_id, callback_url)
    select challenge_id, job_id, callback_url
      from asked join burnt on burnt.nonce = asked.nonce and asked.is_first
     order by challenge_id, place
        on conflict (challenge_id) do nothing
    returning job_id
  ), ${createJobs}
  select case when burnt.nonce is not null then 'burnt'
              when is_fresh then 'seen'
              when (select true from challenge_nonces as k where k.side = 'solver' and k.nonce = asked.nonce) then 'seen'
              else 'stale' end as verdict,
         accepted.job_id is not null as is_new
    from asked
    left join burnt on burnt.nonce = asked.nonce and asked.is_first
    left join accepted using (job_id)
   order by place`

const ROWS_MAX = 250 // the parts of the statement are joined by nested loops

export const SOLVE_KIND = 'solve'

/** The job's payload: what solving it and calling back need. */
export interface SolvePayload {
  challenge_id: string
  problem: unknown
  output_spec: unknown
  constraints: Constraints
  callback_url: string
}

export interface SolveAcceptance {
  nonce: Nonce
  payload: SolvePayload
  /** Size of the request's body. */
  bytes: number
  trace: TraceContext
}

export interface SolveReceipt {
  /** Anything but `burnt`: nothing has changed. */
  verdict: NonceVerdict
  isNew: boolean
}

export interface SolveStore {
  accept(acceptance: SolveAcceptance): Promise<SolveReceipt>
}

export const solverJobId = (challengeId: string): string => `solver_job_${challengeId}`

export function openSolveStore({ ledger }: { ledger: Ledger }, skewSec: number): SolveStore {
  const submit = ledger.openGuarded<{ verdict: NonceVerdict; is_new: boolean }>(acceptSql(skewSec))
  return {
    accept: batched<SolveAcceptance, SolveReceipt>({
      rowsMax: ROWS_MAX,
      sizeOf: ({ bytes }) => bytes,
      async run(asked) {
        const nonces = nonceRows(asked.map(({ nonce }) => nonce))
        const jobs = asked.map(({ payload, bytes, trace }, place) => ({
          job: { kind: SOLVE_KIND, jobId: newJobId(), payload, trace },
          more: {
            ...nonces[place],
            challenge_id: payload.challenge_id,
            callback_url: payload.callback_url,
          },
          bytes,
        }))
        const rows = await submit(jobs)
        return rows.map((row) => ({ verdict: row.verdict, isNew: row.is_new }))
      },
    }),
  }
}

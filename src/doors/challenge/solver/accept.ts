// What POST /solve changes, in one statement that all requests arriving together share: the nonce is burnt, the request is
// stored and the job is created. The ledger adds the insert into its own table (core/ledger/submit/submit-guarded.ts).
import { batched } from '../../../core/db/batch.ts'
import { textsParam } from '../../../core/db/params.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { GuardedParts } from '../../../core/ledger/submit/submit-guarded.ts'
import type { Constraints } from './constraints.ts'
import { nonceColumns, type Nonce, type NonceVerdict } from '../signing/nonces.ts'
import type { TraceContext } from '../../../core/traces/context.ts'

// Rows are inserted in order, so that two servers that accept the same challenges cannot deadlock. A nonce that comes twice
// belongs to its first request (`is_first`); a challenge that comes twice is inserted once. A nonce that was used before is
// reported as seen even if its timestamp is stale. (It is looked up by `select true`: the planner may turn an `exists` into
// a scan of all nonces.)
const COLUMNS = {
  nonce: 'text',
  ts: 'bigint',
  not_after_ms: 'float8',
  is_first: 'boolean',
  challenge_id: 'text',
  callback_url: 'text',
} as const
const acceptSql =
  (skewSec: number) =>
  ({ requests, createJobs }: GuardedParts) =>
    `
  with asked as materialized (
    select r.*, abs(date_part('epoch', clock_timestamp()) - ts) <= ${skewSec}
                  and coalesce(date_part('epoch', clock_timestamp()) * 1000 <= not_after_ms, true) as is_fresh
      from ${requests}
  ), burnt as (
    insert into challenge_nonces (side, nonce)
    select 'solver', nonce from asked where is_fresh and is_first order by nonce
        on conflict do nothing
    returning nonce
  ), accepted as (
    insert into solve_requests (challenge_id, job_id, callback_url)
    select challenge_id, job_id, callback_url
      from asked where is_first and (nonce in (select nonce from burnt)) is true
     order by challenge_id, place
        on conflict (challenge_id) do nothing
    returning job_id
  ), ${createJobs}
  select case when is_first and nonce in (select nonce from burnt) then 'burnt'
              when is_fresh then 'seen'
              when (select true from challenge_nonces as k where k.side = 'solver' and k.nonce = asked.nonce) then 'seen'
              else 'stale' end as verdict,
         job_id in (select job_id from accepted) as is_new
    from asked
   order by place`

const ROWS_MAX = 250
const EAGER_ROWS = 24 // a statement costs as much as eight rows of it

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
  const submit = ledger.openGuarded<{ verdict: NonceVerdict; is_new: boolean }, keyof typeof COLUMNS>({
    columns: COLUMNS,
    sql: acceptSql(skewSec),
  })
  return {
    accept: batched<SolveAcceptance, SolveReceipt>({
      rowsMax: ROWS_MAX,
      eagerRows: EAGER_ROWS,
      sizeOf: ({ bytes }) => bytes,
      async run(asked) {
        const rows = await submit({
          jobs: asked.map(({ payload, bytes, trace }) => ({ kind: SOLVE_KIND, payload, payloadBytes: bytes, trace })),
          columns: {
            ...nonceColumns(asked.map(({ nonce }) => nonce)),
            challenge_id: textsParam(asked.map(({ payload }) => payload.challenge_id)),
            callback_url: textsParam(asked.map(({ payload }) => payload.callback_url)),
          },
        })
        return rows.map((row) => ({ verdict: row.verdict, isNew: row.is_new }))
      },
    }),
  }
}

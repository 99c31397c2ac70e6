// Accepting a challenge to solve: nonce, request and job in one statement, shared by all that arrive at once.
import { batched } from '../../../core/db/batch.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { newJobId } from '../../../core/random.ts'
import type { Constraints } from './constraints.ts'
import { burnNonces, IS_BURNT, nonceRows, verdictOf, type Nonce, type NonceVerdict } from '../signing/nonces.ts'

// Sorted, so that two servers that accept the same challenges never wait for each other in a circle. A challenge that is
// asked for twice at once is inserted once.
const guardTables = (skewSec: number): string => `
  ${burnNonces('solver', skewSec, 'job_id uuid, challenge_id text, callback_url text')},
  accepted as (
    insert into solve_requests (challenge_id, job_id, callback_url)
    select challenge_id, job_id, callback_url from asked join burnt on ${IS_BURNT} order by challenge_id, place
        on conflict (challenge_id) do nothing
    returning job_id
  )`

const ANSWER = `
  select ${verdictOf('solver')}, accepted.job_id is not null as is_new
    from asked left join burnt on ${IS_BURNT} left join accepted using (job_id) order by place`

const ROWS_MAX = 250 // the parts of the statement are joined by nested loops

export const SOLVE_KIND = 'solve'

/** What the job carries, and its callback needs. */
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
  /** Of the request. */
  bytes: number
  traceId: string
}

export interface SolveReceipt {
  /** Unless it was burnt for this request, nothing has changed. */
  verdict: NonceVerdict
  isNew: boolean
}

export interface SolveStore {
  accept(acceptance: SolveAcceptance): Promise<SolveReceipt>
}

export const solverJobId = (challengeId: string): string => `solver_job_${challengeId}`

export function openSolveStore({ ledger }: { ledger: Ledger }, skewSec: number): SolveStore {
  const submit = ledger.openGuarded<{ verdict: NonceVerdict; is_new: boolean }>({
    tables: guardTables(skewSec),
    answer: ANSWER,
  })
  return {
    accept: batched<SolveAcceptance, SolveReceipt>({
      rowsMax: ROWS_MAX,
      sizeOf: ({ bytes }) => bytes,
      async run(asked) {
        const nonces = nonceRows(asked.map(({ nonce }) => nonce))
        const jobs = asked.map(({ payload, traceId }, place) => ({
          job: { kind: SOLVE_KIND, jobId: newJobId(), payload, traceId },
          more: {
            ...nonces[place],
            challenge_id: payload.challenge_id,
            callback_url: payload.callback_url,
          },
        }))
        const rows = await submit(jobs)
        return rows.map((row) => ({ verdict: row.verdict, isNew: row.is_new }))
      },
    }),
  }
}

// Accepting a challenge to solve: nonce, request and job in one transaction, shared by all that arrive at once.
import { batched } from '../../core/batch.ts'
import type { Database, Tx } from '../../core/database.ts'
import type { Ledger } from '../../core/ledger/ledger.ts'
import { newJobId } from '../../core/random.ts'
import { refused, type Refused } from '../../core/outcome.ts'
import type { Constraints } from './constraints.ts'
import { burn } from './nonces.ts'

// Sorted, so that two servers that accept the same challenges never wait for each other in a circle.
const INSERT_REQUESTS = `
  insert into solve_requests (challenge_id, job_id, callback_url)
  select challenge_id, job_id, callback_url
    from json_to_recordset($1) as r (challenge_id text, job_id uuid, callback_url text)
   order by challenge_id
      on conflict (challenge_id) do nothing
  returning job_id`

export const SOLVE_KIND = 'solve'

/** What the job carries, and its callback needs. */
export interface SolvePayload {
  challenge_id: string
  problem: unknown
  output_spec: unknown
  constraints: Constraints
  callback_url: string
}

export interface Acceptance {
  nonce: string
  payload: SolvePayload
  traceId: string
}

export type Accepted = { ok: true; isNew: boolean } | Refused<'replayed'>

export interface SolveStore {
  accept(acceptance: Acceptance): Promise<Accepted>
}

export const solverJobId = (challengeId: string): string => `solver_job_${challengeId}`

export function openSolveStore(deps: { database: Database; ledger: Ledger; wakeOutbox(): void }): SolveStore {
  const { database, ledger, wakeOutbox } = deps
  return {
    accept: batched<Acceptance, Accepted>({
      async run(asked) {
        const answers = await database.hot.transaction((tx) => acceptAll(tx, ledger, asked))
        ledger.announce([SOLVE_KIND])
        wakeOutbox() // with Redis, the announcement is a row of the outbox
        return answers
      },
    }),
  }
}

async function acceptAll(tx: Tx, ledger: Ledger, asked: readonly Acceptance[]): Promise<Accepted[]> {
  const burnt = await burn(
    tx,
    'solver',
    asked.map(({ nonce }) => nonce),
  )
  // Of two with the same nonce in one batch, the first had it.
  const rows = asked.map((one) => (burnt.delete(one.nonce) ? { ...one, jobId: newJobId() } : null))
  const fresh = rows.filter((row) => row !== null)
  const inserted = await insertRequests(tx, fresh)
  const jobs = fresh
    .filter(({ jobId }) => inserted.has(jobId))
    .map(({ jobId, payload, traceId }) => ({ kind: SOLVE_KIND, jobId, payload, traceId }))
  await ledger.submitIn(tx, jobs)
  return rows.map((row) => (row === null ? refused('replayed') : { ok: true, isNew: inserted.has(row.jobId) }))
}

async function insertRequests(tx: Tx, fresh: readonly (Acceptance & { jobId: string })[]): Promise<Set<string>> {
  if (fresh.length === 0) return new Set()
  const rows = fresh.map(({ jobId, payload }) => ({
    job_id: jobId,
    challenge_id: payload.challenge_id,
    callback_url: payload.callback_url,
  }))
  const inserted = await tx.query<{ job_id: string }>(INSERT_REQUESTS, [JSON.stringify(rows)])
  return new Set(inserted.map((row) => row.job_id))
}

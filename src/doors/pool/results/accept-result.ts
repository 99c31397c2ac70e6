// A result that passed its checks is finalized in the ledger, and everything that follows from it commits with that: the
// result itself, the receipt that is due, the worker's counts, the quorum's touch or the client's callback. A `failed` result
// of a job with further attempts is released instead, and the job waits for another worker.
import { isConflict } from '../../../core/db/database.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Held } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Outbox } from '../../../core/outbox/outbox.ts'
import { refused, type Refused } from '../../../core/values/outcome.ts'
import { callbackBody, type Callbacks } from '../clients/callbacks.ts'
import { HELD_REFUSALS, type PoolCode } from '../errors.ts'
import { touchQuorum, touchVotesOf } from '../quorum/quorum-rows.ts'
import { FAILED_VOTE } from '../quorum/tally.ts'
import { RECEIPT_TOPIC } from '../receipts/receipt-chain.ts'
import { leaseOwner } from '../workers/presence.ts'
import { hashOutput } from './output-hash.ts'
import type { CanaryVerdict, OpenAssignment, RecordedResult, ResultStore } from './result-store.ts'
import type { SubmittedResult } from './submit-result.ts'

const EMPTY_VOTE = 'empty'

export interface AcceptedResult {
  ok: true
  status: 'completed' | 'failed'
  finishedAt: string
}

/** `not_canonical`: the message says what is wrong with the output. */
export type SubmitResultAnswer = AcceptedResult | Refused<PoolCode> | (Refused<'not_canonical'> & { message: string })

export interface AcceptDeps {
  ledger: Ledger
  outbox: Pick<Outbox, 'add'>
  results: ResultStore
  callbacks: Callbacks
  /** A replica's result is recorded: its quorum may be decided. */
  settle(quorumId: string): Promise<void>
  /** A job waits for another worker. */
  onRetry(): void
}

interface AcceptContext {
  assignment: OpenAssignment
  /** The database's clock. */
  now: string
  publicKey: string
}

export async function acceptResult(
  deps: AcceptDeps,
  submitted: SubmittedResult,
  { assignment, now, publicKey }: AcceptContext,
): Promise<SubmitResultAnswer> {
  const { output, outputHash, errorMessage } = submitted
  const hashed = output === null ? null : await hashOutput(output)
  if (hashed !== null && !hashed.ok) return { ok: false, code: 'not_canonical', message: hashed.message }
  const computedHash = hashed?.hash ?? null
  const status = errorMessage === null ? 'completed' : 'failed'
  const vote = voteOf(submitted, computedHash)
  const { jobId, attemptId, quorumId } = assignment
  const isFinal = status === 'completed' || assignment.retriesLeft === 0
  const verdict = verdictOf(assignment.expectedHash, { status, vote })
  const finishedAt = now
  const judged = { computedHash, vote, publicKey, verdict, finishedAt, isFinal }
  const result: RecordedResult = { jobId, quorumId, status, ...judged, ...submitted }

  const held = { jobId, attemptId, owner: leaseOwner(submitted.workerId) }
  const isWrongHash = computedHash !== null && outputHash !== computedHash
  if (assignment.requiresHash && isWrongHash) {
    const answer = await deps.ledger.renew({ leaseMs: assignment.leaseMs, ...held }) // a lost lease is the first refusal
    return refused(answer.ok ? 'output_hash_wrong' : HELD_REFUSALS[answer.code])
  }
  const refusal = await finalize(deps, held, result, assignment)
  if (refusal !== null) return refused(refusal)
  if (!isFinal) deps.onRetry()
  else if (quorumId !== null) await deps.settle(quorumId)
  return { ok: true, status, finishedAt: now }
}

async function finalize(
  { ledger, outbox, results, callbacks }: AcceptDeps,
  held: Held,
  result: RecordedResult,
  assignment: OpenAssignment,
): Promise<PoolCode | null> {
  const { status, assignmentId, workerId, outputHash, finishedAt, errorMessage } = result
  const summary = {
    status,
    assignment_id: assignmentId,
    worker_id: workerId,
    output_hash: outputHash,
    finished_at: finishedAt,
  }
  const receipt = outbox.add(RECEIPT_TOPIC, { payload: { assignment_id: assignmentId } })
  const effects = [results.record(result), receipt, ...furtherEffects(callbacks, result, assignment)]
  try {
    const answer = result.isFinal
      ? await ledger.finalize({ result: summary, effects, ...held })
      : await ledger.release({ note: `failed: ${errorMessage}`, effects, ...held })
    if (answer.ok) return null
    return (await results.isSubmitted(assignmentId)) ? 'already_submitted' : HELD_REFUSALS[answer.code]
  } catch (error) {
    if (isConflict(error)) return 'concurrent'
    throw error
  }
}

function furtherEffects(callbacks: Callbacks, result: RecordedResult, assignment: OpenAssignment): Effect[] {
  const { quorumId, clientId, callbackUrl: url } = assignment
  if (!result.isFinal) return []
  if (quorumId !== null) return [touchQuorum(quorumId)]
  if (result.verdict === 'wrong') return [touchVotesOf(result.workerId)]
  if (url === null || clientId === null) return []
  const { jobId } = result
  return [callbacks.queue({ jobId, clientId, url, body: callbackBody(jobId, result) })]
}

/** A result whose output_hash is not that of its output has no vote: what was signed is not what was sent. */
function voteOf({ errorMessage, outputHash }: SubmittedResult, computedHash: string | null): string | null {
  if (errorMessage !== null) return FAILED_VOTE
  if (computedHash === null) return outputHash === null ? EMPTY_VOTE : `claimed ${outputHash}`
  return outputHash === null || outputHash === computedHash ? `output ${computedHash}` : null
}

/** A `failed` result is not a wrong answer. */
function verdictOf(expectedHash: string | null, result: Pick<RecordedResult, 'status' | 'vote'>): CanaryVerdict | null {
  if (expectedHash === null || result.status === 'failed') return null
  return result.vote === `output ${expectedHash}` ? 'passed' : 'wrong'
}

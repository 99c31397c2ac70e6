// A worker hands in what it made of an assignment. The order of the checks is the contract's; the last word is the ledger's.
import { isSignedBy, decodeBase64url, PUBLIC_KEY_BYTES, SIGNATURE_BYTES, signedText } from '@reeve/sdk/pool'
import { isConflict } from '../../../core/db/database.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Held } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Outbox } from '../../../core/outbox/outbox.ts'
import { refused, type Refused } from '../../../core/outcome.ts'
import { callbackBody, type Callbacks, type JobEnd } from '../clients/callbacks.ts'
import { HELD_REFUSALS, type PoolCode } from '../errors.ts'
import { hashOutput } from './output-hash.ts'
import { leaseOwner } from '../workers/presence.ts'
import { RECEIPT_TOPIC } from '../receipts/receipt-chain.ts'
import { touchVotesOf } from '../quorum/quorum-store.ts'
import type { Recorded, ResultStore, Submittable, Verdict } from './result-store.ts'
import { FAILED_VOTE } from '../quorum/tally.ts'
import { touchQuorum } from '../tasks/task-rows.ts'

const EMPTY_VOTE = 'empty'

export interface Submission {
  workerId: number
  ownerId: number
  assignmentId: number
  nonce: string
  signature: string
  /** JSON texts, as they were sent. */
  output: string | null
  metrics: string | null
  errorMessage: string | null
  artifactUri: string | null
  outputHash: string | null
}

export interface Accepted {
  ok: true
  status: 'completed' | 'failed'
  finishedAt: string
}

/** `not_canonical`: its message says what is wrong with the output. */
export type SubmitAnswer = Accepted | Refused<PoolCode> | (Refused<'not_canonical'> & { message: string })

export interface SubmitDeps {
  ledger: Ledger
  outbox: Pick<Outbox, 'add'>
  leaseMs: number
  results: ResultStore
  callbacks: Callbacks
  /** A replica's result is in: its quorum may be decided. */
  settle(quorumId: string): Promise<void>
}

export const openSubmit =
  (deps: SubmitDeps) =>
  async (submission: Submission): Promise<SubmitAnswer> => {
    const found = await deps.results.read(submission)
    if (found === null) return refused('worker_not_found')
    const signedBy = checkSignature(found.publicKey, submission)
    if (typeof signedBy !== 'object') return refused(signedBy)
    const { assignment } = found
    if (assignment === null) return refused('assignment_not_found')
    if (assignment.nonce !== submission.nonce) return refused('nonce_wrong')
    if (assignment.isSubmitted) return refused('already_submitted')
    return accept(deps, submission, { ...found, assignment }, signedBy.publicKey)
  }

type Found = Submittable & { assignment: NonNullable<Submittable['assignment']> }

function checkSignature(publicKey: string | null, submission: Submission): PoolCode | { publicKey: string } {
  if (publicKey === null) return 'key_not_configured'
  const key = decodeBase64url(publicKey)
  if (key === null) return 'key_encoding'
  if (key.length !== PUBLIC_KEY_BYTES) return 'key_length'
  const signature = decodeBase64url(submission.signature)
  if (signature === null) return 'signature_encoding'
  if (signature.length !== SIGNATURE_BYTES) return 'signature_length'
  const { assignmentId: assignment_id, nonce, outputHash: output_hash } = submission
  return isSignedBy(key, signature, signedText({ assignment_id, nonce, output_hash }))
    ? { publicKey }
    : 'signature_wrong'
}

async function accept(
  deps: SubmitDeps,
  submission: Submission,
  { assignment, now }: Found,
  publicKey: string,
): Promise<SubmitAnswer> {
  const { output, outputHash, errorMessage } = submission
  const hashed = output === null ? null : await hashOutput(output)
  if (hashed !== null && !hashed.ok) return { ok: false, code: 'not_canonical', message: hashed.message }
  const computedHash = hashed?.hash ?? null
  const status = errorMessage === null ? 'completed' : 'failed'
  const vote = voteOf(submission, computedHash)
  const result: Recorded = {
    ...submission,
    jobId: assignment.jobId,
    quorumId: assignment.quorumId,
    status,
    computedHash,
    vote,
    publicKey,
    verdict: verdictOf(assignment.expectedHash, { status, vote }),
    finishedAt: now,
  }
  const held = { jobId: assignment.jobId, attemptId: assignment.attemptId, owner: leaseOwner(submission.workerId) }
  const isWrongHash = computedHash !== null && outputHash !== computedHash
  if (assignment.requiresHash && isWrongHash) {
    const answer = await deps.ledger.renew({ ...held, leaseMs: deps.leaseMs }) // whether it could be handed in at all
    return refused(answer.ok ? 'output_hash_wrong' : HELD_REFUSALS[answer.code])
  }
  const refusal = await finalize(deps, held, result, assignment)
  if (refusal !== null) return refused(refusal)
  if (assignment.quorumId !== null) await deps.settle(assignment.quorumId)
  return { ok: true, status, finishedAt: now }
}

async function finalize(
  { ledger, outbox, results, callbacks }: SubmitDeps,
  held: Held,
  result: Recorded,
  assignment: Found['assignment'],
): Promise<PoolCode | null> {
  const { status, assignmentId, workerId, outputHash } = result
  const summary = { status, assignment_id: assignmentId, worker_id: workerId, output_hash: outputHash }
  const receipt = outbox.add(RECEIPT_TOPIC, { payload: { assignment_id: assignmentId } })
  const effects = [results.record(result), receipt, ...furtherEffects(callbacks, result, assignment)]
  try {
    const answer = await ledger.finalize({ ...held, result: summary, effects })
    if (answer.ok) return null
    return (await results.isSubmitted(assignmentId)) ? 'already_submitted' : HELD_REFUSALS[answer.code]
  } catch (error) {
    if (isConflict(error)) return 'concurrent'
    throw error
  }
}

function furtherEffects(callbacks: Callbacks, result: Recorded, assignment: Found['assignment']): Effect[] {
  const { quorumId, clientId, callbackUrl: url } = assignment
  if (quorumId !== null) return [touchQuorum(quorumId)]
  if (result.verdict === 'wrong') return [touchVotesOf(result.workerId)]
  if (url === null || clientId === null) return []
  const { jobId } = result
  return [callbacks.queue({ jobId, clientId, url, body: callbackBody(jobId, endOf(result)) })]
}

const endOf = (result: Recorded): JobEnd => ({
  status: result.status,
  output: result.output,
  outputHash: result.outputHash,
  errorMessage: result.errorMessage,
  artifactUri: result.artifactUri,
  metrics: result.metrics,
  finishedAt: result.finishedAt,
})

/** A result whose hash is not that of its output counts for nothing: what was signed is not what was sent. */
function voteOf({ errorMessage, outputHash }: Submission, computedHash: string | null): string | null {
  if (errorMessage !== null) return FAILED_VOTE
  if (computedHash === null) return outputHash === null ? EMPTY_VOTE : `claimed ${outputHash}`
  return outputHash === null || outputHash === computedHash ? `output ${computedHash}` : null
}

/** To say that it cannot be done is no lie. */
function verdictOf(expectedHash: string | null, result: Pick<Recorded, 'status' | 'vote'>): Verdict | null {
  if (expectedHash === null || result.status === 'failed') return null
  return result.vote === `output ${expectedHash}` ? 'passed' : 'wrong'
}

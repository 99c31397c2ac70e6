// A replicated job is a ledger job that other ledger jobs decide: its replicas, each run by a worker of another owner. The first are
// submitted with it. Whatever happens to a replica touches the quorum in the same transaction. Settling a quorum reads all its
// replicas and issues further ones, or ends the job with the result that enough of them agree on. It runs right after the touch; a
// loop does it when the process died in between. Settling twice changes nothing: the ledger ends a job once.
import type { Logger } from 'pino'
import { batched } from '../../../core/db/batch.ts'
import type { Database } from '../../../core/db/database.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Loop } from '../../../core/loop.ts'
import { callbackBody, type Callbacks, type JobEnd } from '../clients/callbacks.ts'
import { agreementOf, type Agreement } from './agreement.ts'
import {
  claimIssues,
  endQuorum,
  findUnsettled,
  judgeResults,
  openQuorumRows,
  readOutputs,
  type QuorumRows,
  type QuorumState,
  type QuorumVote,
  type ResultVerdict,
} from './quorum-rows.ts'
import { replicasOf } from './replicas.ts'
import type { ReplicatedJob, ReplicatedJobs } from './replicated-jobs.ts'
import { openSettling } from './settling.ts'
import { decide, FAILED_VOTE, type Decision } from './tally.ts'
import { removeTask } from '../tasks/task-rows.ts'

const OWNER = 'pool:quorum'
const SETTLE_EVERY_MS = 1000
const SETTLE_MAX = 200

export interface Quorums {
  /** Settles in this process. It never rejects: if it fails, the loop does it. */
  settle(quorumId: string): Promise<void>
  loop: Loop
  close(): Promise<void>
}

export interface QuorumDeps {
  database: Database
  ledger: Ledger
  replicated: ReplicatedJobs
  callbacks: Callbacks
  log: Logger
  /** Replicas wait for workers. */
  onIssued(): void
}

interface Settling extends QuorumDeps {
  rows: QuorumRows
  issue(issue: Issue): Promise<true>
}

export function openQuorums(own: QuorumDeps): Quorums {
  const issue = batched<Issue, true>({ keyOf: ({ job }) => job.jobId, run: (issues) => issueAll(own, issues) })
  const deps: Settling = { ...own, rows: openQuorumRows(own.database), issue }
  const settling = openSettling((quorumId) => settleOnce(deps, quorumId))
  return {
    async settle(quorumId) {
      try {
        await settling.run(quorumId)
      } catch (error) {
        deps.log.error({ err: error, job_id: quorumId }, 'settling a replicated job failed')
      }
    },
    loop: {
      name: 'settle-replicated-jobs',
      everyMs: SETTLE_EVERY_MS,
      isDue: `exists (select from pool_quorums where touches > settled)`,
      async runOnce() {
        const found = await findUnsettled(deps.database, SETTLE_MAX)
        await Promise.all(found.map(settling.run))
        return found.length === SETTLE_MAX
      },
    },
    close: settling.close,
  }
}

async function settleOnce(deps: Settling, quorumId: string): Promise<void> {
  const { rows, replicated } = deps
  const state = await rows.read(quorumId)
  if (state === null) return
  if (state.hasEnded) return cleanUp(deps, quorumId, state)

  const agree = await agreementIn(deps, quorumId, state)
  const decision = decide({ ...state, agree, outstanding: state.outstanding.length })
  if (decision.what === 'wait') return void (await rows.markSettled(quorumId, state))
  const job = await replicated.get(quorumId)
  if (job === null) return
  if (decision.what === 'issue') return void (await deps.issue({ job, state, count: decision.count }))

  const answer = await end(deps, { job, state, agree }, decision)
  if (answer === 'held') return
  const isSettled = answer === 'ended' && (await closeOpen(deps, quorumId, state))
  const later = isSettled ? null : await rows.read(quorumId)
  if (later !== null) await cleanUp(deps, quorumId, later)
}

function agreementIn({ database }: QuorumDeps, quorumId: string, { agree, votes }: QuorumState) {
  const readsOutputs = agree !== null && agree.type !== 'exact' && votes.length > 1
  return readsOutputs
    ? readOutputs(database, quorumId).then((outputs) => agreementOf(agree, votes, outputs))
    : agreementOf(null, votes, new Map())
}

interface Issue {
  job: ReplicatedJob
  state: QuorumState
  count: number
}

/** Replicas of many jobs in one transaction. */
async function issueAll({ database, ledger, onIssued }: QuorumDeps, issues: readonly Issue[]): Promise<true[]> {
  await database.hot.transaction(async (tx) => {
    const wanted = issues.map(({ job, state, count }) => ({ quorumId: job.jobId, state, count }))
    const claimed = await claimIssues(tx, wanted)
    const issued = issues.filter(({ job }) => claimed.has(job.jobId))
    await ledger.submitIn(
      tx,
      issued.flatMap(({ job, state, count }) => replicasOf(job, { count, classId: state.classId, times: state })),
    )
  })
  onIssued()
  return issues.map(() => true)
}

interface Ending {
  job: ReplicatedJob
  state: QuorumState
  agree: Agreement<QuorumVote>
}

/** `over`: it had ended before. `held`: a process of an earlier version is ending it; if that one dies, the loop settles again. */
async function end(
  { rows, ledger, callbacks }: Settling,
  { job: { jobId, accountId, payload }, state, agree }: Ending,
  decision: Decision<QuorumVote> & { what: 'agreed' | 'split' },
): Promise<'ended' | 'over' | 'held'> {
  const winner = decision.what === 'agreed' ? decision.winner : null
  const finishedAt = state.now
  const brief = winner === null ? splitEnd(decision) : endOf(winner)
  const result = {
    status: brief.status,
    assignment_id: winner?.assignment_id ?? null,
    output_hash: brief.outputHash,
    error_message: brief.errorMessage,
    results: state.votes.length,
    finished_at: finishedAt,
  }
  const effects = [
    ...judgeResults(winner === null ? [] : verdictsOf(state.votes, winner, agree)),
    endQuorum(jobId, winner?.assignment_id ?? null),
  ]
  const { callback_url: url } = payload
  if (url !== null && accountId !== null) {
    const whole = winner === null ? brief : await rows.readEnd(winner.assignment_id)
    effects.push(
      callbacks.queue({ jobId, clientId: accountId, url, body: callbackBody(jobId, { ...whole, finishedAt }) }),
    )
  }
  const answer = await ledger.conclude({ jobId, owner: OWNER, result, effects })
  if (answer.ok) return 'ended'
  return answer.code === 'already_finished' ? 'over' : 'held'
}

/** Which results agree with the decision. An agreed failure is nobody's merit or fault. */
function verdictsOf(votes: readonly QuorumVote[], winner: QuorumVote, agree: Agreement<QuorumVote>): ResultVerdict[] {
  if (winner.vote === FAILED_VOTE) return []
  return votes
    .filter(({ vote, verdict }) => verdict === null && vote !== FAILED_VOTE)
    .map((vote) => {
      const isAgreed = vote === winner || agree(vote, winner)
      return { assignmentId: vote.assignment_id, verdict: isAgreed ? 'agreed' : 'disagreed' }
    })
}

const NO_CONTENT = { output: null, artifactUri: null, metrics: null, finishedAt: null }

const endOf = ({ status, output_hash: outputHash, error_message: errorMessage }: QuorumVote): JobEnd => ({
  status,
  outputHash,
  errorMessage,
  ...NO_CONTENT,
})

const splitEnd = (decision: Decision<QuorumVote>): JobEnd => ({
  status: 'failed',
  outputHash: null,
  errorMessage:
    decision.what === 'split' ? `No quorum: of ${decision.results} results at most ${decision.most} agree.` : null,
  ...NO_CONTENT,
})

const cancelReplicas = ({ ledger }: Settling, replicaIds: readonly string[]) =>
  Promise.all(
    replicaIds.map((jobId) =>
      ledger.cancel({ jobId, reason: 'the replicated job has ended', effects: [removeTask(jobId)] }),
    ),
  )

/** After its end, which is one more touch. False: something else has happened since the state was read. */
async function closeOpen(deps: Settling, quorumId: string, state: QuorumState): Promise<boolean> {
  await cancelReplicas(deps, state.outstanding)
  return deps.rows.markSettled(quorumId, { touches: state.touches + 1, issued: state.issued })
}

/** The job has ended: open replicas are cancelled, and results that came late are judged like the others. */
async function cleanUp(deps: Settling, quorumId: string, state: QuorumState): Promise<void> {
  const { rows } = deps
  await cancelReplicas(deps, state.outstanding)
  const winner = state.votes.find(({ assignment_id: id }) => id === state.winnerId)
  if (winner !== undefined && state.votes.some(({ verdict }) => verdict === null)) {
    const verdicts = verdictsOf(state.votes, winner, await agreementIn(deps, quorumId, state))
    if (verdicts.length > 0) await rows.judgeLate(verdicts, state.isCounted)
  }
  await rows.markSettled(quorumId, state)
}

// A replicated job is a ledger job that other ledger jobs decide: its replicas, each run by a worker of another owner. Whatever
// happens to a replica touches the quorum in the same transaction. Settling a quorum reads all its replicas and issues the
// missing ones, or ends the job with the result that enough of them agree on. It runs right after the touch; a loop does it
// when the process died in between. Settling twice changes nothing: the ledger ends a job once.
import type { Logger } from 'pino'
import { batched } from '../../../core/db/batch.ts'
import type { AcquireAnswer } from '../../../core/ledger/acquire.ts'
import type { Database } from '../../../core/db/database.ts'
import type { Job } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Loop } from '../../../core/loop.ts'
import { newJobId } from '../../../core/random.ts'
import { callbackBody, type Callbacks, type JobEnd } from '../clients/callbacks.ts'
import { clientPayloadOf, POOL_KIND, type ClientPayload, type ReplicaPayload } from '../tasks/payload.ts'
import {
  claimIssues,
  endQuorum,
  findUnsettled,
  judgeEffects,
  openQuorumRows,
  readOutputs,
  type QuorumRows,
  type QuorumState,
  type QuorumVote,
  type ResultVerdict,
} from './quorum-rows.ts'
import { agreementOf, type Agreement } from './agreement.ts'
import { decide, FAILED_VOTE, type Decision } from './tally.ts'
import { insertTasks, removeTask } from '../tasks/task-rows.ts'

const OWNER = 'pool:quorum'
const LEASE_MS = 10_000
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
  callbacks: Callbacks
  log: Logger
  /** Replicas wait for workers. */
  onIssued(): void
}

interface Settling extends QuorumDeps {
  rows: QuorumRows
  issue(issue: Issue): Promise<true>
  /** Takes the job in order to end it. The end's own commit puts it on the disk. */
  acquireToEnd(jobId: string): Promise<AcquireAnswer>
}

export function openQuorums(own: QuorumDeps): Quorums {
  const issue = batched<Issue, true>({ keyOf: ({ job }) => job.jobId, run: (issues) => issueAll(own, issues) })
  const acquireToEnd = batched<string, AcquireAnswer>({
    keyOf: (jobId) => jobId,
    run: (jobIds) => own.ledger.acquireMany(jobIds.map((jobId) => ({ jobId, owner: OWNER, leaseMs: LEASE_MS }))),
  })
  const deps: Settling = { ...own, rows: openQuorumRows(own.database), issue, acquireToEnd }
  const running = new Map<string, Promise<void>>()
  /** One at a time per quorum: a touch that comes meanwhile is settled afterwards. */
  const settleNow = async (quorumId: string): Promise<void> => {
    const before = running.get(quorumId)
    const mine = (before ?? Promise.resolve()).then(() => settleOnce(deps, quorumId))
    const kept = mine.catch(() => {})
    running.set(quorumId, kept)
    try {
      await mine
    } finally {
      if (running.get(quorumId) === kept) running.delete(quorumId)
    }
  }
  return {
    async settle(quorumId) {
      try {
        await settleNow(quorumId)
      } catch (error) {
        deps.log.error({ err: error, job_id: quorumId }, 'settling a replicated job failed')
      }
    },
    loop: {
      name: 'settle-replicated-jobs',
      everyMs: SETTLE_EVERY_MS,
      async runOnce() {
        const found = await findUnsettled(deps.database, SETTLE_MAX)
        await Promise.all(found.map(settleNow))
        return found.length === SETTLE_MAX
      },
    },
    close: async () => void (await Promise.all(running.values())),
  }
}

async function settleOnce(deps: Settling, quorumId: string): Promise<void> {
  const { rows, ledger } = deps
  const [state, job] = await Promise.all([rows.read(quorumId), ledger.get(quorumId)])
  const payload = job === null ? null : clientPayloadOf(job)
  if (state === null || job === null || payload === null) return
  if (state.hasEnded) return cleanUp(deps, quorumId, state)

  const agree = await agreementIn(deps, quorumId, state)
  const decision = decide({ ...state, agree, outstanding: state.outstanding.length })
  switch (decision.what) {
    case 'wait':
      return rows.markSettled(quorumId, state.touches)
    case 'issue':
      return void (await deps.issue({ job, requiresHash: payload.requires_hash, state, count: decision.count }))
    case 'agreed':
    case 'split': {
      const hasEnded = await end(deps, { job, payload, state, agree }, decision)
      const ended = hasEnded ? await rows.read(quorumId) : null
      if (ended !== null) await cleanUp(deps, quorumId, ended)
    }
  }
}

function agreementIn({ database }: QuorumDeps, quorumId: string, { agree, votes }: QuorumState) {
  const readsOutputs = agree !== null && agree.type !== 'exact' && votes.length > 1
  return readsOutputs
    ? readOutputs(database, quorumId).then((outputs) => agreementOf(agree, votes, outputs))
    : agreementOf(null, votes, new Map())
}

interface Issue {
  job: Job
  state: QuorumState
  requiresHash: boolean
  count: number
}

/** Replicas of many jobs in one transaction. */
async function issueAll({ database, ledger, onIssued }: QuorumDeps, issues: readonly Issue[]): Promise<true[]> {
  await database.hot.transaction(async (tx) => {
    const wanted = issues.map(({ job, state, count }) => ({ quorumId: job.jobId, state, count }))
    const claimed = await claimIssues(tx, wanted)
    const replicas = issues.filter(({ job }) => claimed.has(job.jobId)).flatMap(replicasOf)
    await ledger.submitIn(
      tx,
      replicas.map(({ submission }) => submission),
    )
    await insertTasks(
      tx,
      replicas.map(({ task }) => task),
    )
  })
  onIssued()
  return issues.map(() => true)
}

function replicasOf({ job, requiresHash, state, count }: Issue) {
  const { jobId: quorumId, priority, traceId } = job
  const { classId, quorum, acceptedAt, deadlineAt, retries } = state
  const payload: ReplicaPayload = { quorum_id: quorumId }
  const replicaOf = { quorumId, quorum, acceptedAt, deadlineAt }
  return Array.from({ length: count }, () => {
    const jobId = newJobId()
    return {
      submission: { jobId, kind: POOL_KIND, payload, priority, traceId },
      task: { jobId, classId, priority, requiresHash, retries, replicaOf },
    }
  })
}

interface Ending {
  job: Job
  payload: ClientPayload
  state: QuorumState
  agree: Agreement<QuorumVote>
}

/** False: another process is ending it. If that one dies, its lease expires and the loop settles again. */
async function end(
  { rows, ledger, callbacks, acquireToEnd }: Settling,
  { job: { jobId, accountId }, payload, state, agree }: Ending,
  decision: Decision<QuorumVote> & { what: 'agreed' | 'split' },
): Promise<boolean> {
  const acquired = await acquireToEnd(jobId)
  if (!acquired.ok) return acquired.code === 'already_finished'
  const winner = decision.what === 'agreed' ? decision.winner : null
  const finishedAt = state.now
  const agreed = winner === null ? splitEnd(decision) : await rows.readEnd(winner.assignment_id)
  const ended = { ...agreed, finishedAt }
  const result = {
    status: ended.status,
    assignment_id: winner?.assignment_id ?? null,
    output_hash: ended.outputHash,
    error_message: ended.errorMessage,
    results: state.votes.length,
    finished_at: finishedAt,
  }
  const verdicts = winner === null ? [] : verdictsOf(state.votes, winner, agree)
  const { callback_url: url } = payload
  const callback =
    url === null || accountId === null
      ? []
      : [callbacks.queue({ jobId, clientId: accountId, url, body: callbackBody(jobId, ended) })]
  const effects = [endQuorum(jobId, winner?.assignment_id ?? null), ...judgeEffects(verdicts), ...callback]
  const { attemptId, owner } = acquired.job
  const answer = await ledger.finalize({ jobId, attemptId, owner, result, effects })
  return answer.ok || answer.code === 'already_finished'
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

const splitEnd = (decision: Decision<QuorumVote>): JobEnd => ({
  status: 'failed',
  output: null,
  outputHash: null,
  errorMessage:
    decision.what === 'split' ? `No quorum: of ${decision.results} results at most ${decision.most} agree.` : null,
  artifactUri: null,
  metrics: null,
  finishedAt: null,
})

/** The job has ended: open replicas are cancelled, and results that came late are judged like the others. */
async function cleanUp(deps: Settling, quorumId: string, state: QuorumState): Promise<void> {
  const { rows, ledger } = deps
  await Promise.all(
    state.outstanding.map((jobId) =>
      ledger.cancel({ jobId, reason: 'the replicated job has ended', effects: [removeTask(jobId)] }),
    ),
  )
  const winner = state.votes.find(({ assignment_id: id }) => id === state.winnerId)
  if (winner !== undefined && state.votes.some(({ verdict }) => verdict === null)) {
    const verdicts = verdictsOf(state.votes, winner, await agreementIn(deps, quorumId, state))
    if (verdicts.length > 0) await rows.judgeLate(verdicts)
  }
  await rows.markSettled(quorumId, state.touches)
}

// A replicated job is a ledger job whose hands are other ledger jobs: its replicas, each done by a worker of another owner.
// Whatever happens to a replica touches the quorum in the same transaction; to settle it is to look at all of them and do
// what follows: make the replicas that are missing, or end the job with what enough of them agree on. It is done right after
// the touch, and by a loop for whoever died in between. Doing it twice changes nothing: the ledger ends a job once.
import type { Logger } from 'pino'
import { batched } from '../../../core/db/batch.ts'
import type { Database } from '../../../core/db/database.ts'
import type { Job } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Loop } from '../../../core/loop.ts'
import { newJobId } from '../../../core/random.ts'
import { callbackBody, type Callbacks, type JobEnd } from '../clients/callbacks.ts'
import { payloadOf, POOL_KIND, type PoolPayload } from '../tasks/payload.ts'
import {
  claimIssues,
  decideEffect,
  findUnsettled,
  judgeEffect,
  openQuorumStore,
  readEnd,
  type QuorumState,
  type QuorumStore,
} from './quorum-store.ts'
import { decide, type Decision } from './tally.ts'
import { insertTasks, removeTask } from '../tasks/task-rows.ts'

const OWNER = 'pool:quorum'
const LEASE_MS = 10_000
const SETTLE_EVERY_MS = 1000
const SETTLE_MAX = 200

export interface Quorums {
  /** Now, in this process. It never rejects: if it fails, the loop does it. */
  settle(quorumId: string): Promise<void>
  loop: Loop
  close(): Promise<void>
}

export interface QuorumDeps {
  database: Database
  ledger: Ledger
  callbacks: Callbacks
  log: Logger
  /** Replicas can be given out. */
  onIssued(): void
}

interface Settling extends QuorumDeps {
  store: QuorumStore
  issue(issue: Issue): Promise<true>
}

export function openQuorums(given: QuorumDeps): Quorums {
  const issue = batched<Issue, true>({ keyOf: ({ job }) => job.jobId, run: (issues) => issueAll(given, issues) })
  const deps: Settling = { ...given, store: openQuorumStore(given.database), issue }
  const running = new Map<string, Promise<void>>()
  /** One at a time for each: what is touched meanwhile is looked at afterwards. */
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
        deps.log.error({ err: error, job_id: quorumId }, 'a replicated job could not be settled')
      }
    },
    loop: {
      name: 'settle replicated jobs',
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
  const { store, ledger } = deps
  const [state, job] = await Promise.all([store.read(quorumId), ledger.get(quorumId)])
  const payload = job === null ? null : payloadOf(job)
  if (state === null || job === null || payload === null) return
  if (job.state === 'done' || job.state === 'dead') return tidyUp(deps, quorumId, state)

  const { quorum, replicas, replicasMax, issued, votes, outstanding } = state
  const decision = decide({ votes, quorum, replicas, replicasMax, issued, outstanding: outstanding.length })
  switch (decision.what) {
    case 'wait':
      return store.markSettled(quorumId, state.touches)
    case 'issue':
      return void (await deps.issue({ job, payload, state, count: decision.count }))
    case 'agreed':
    case 'split': {
      const hasEnded = await end(deps, job, payload, state, decision)
      if (hasEnded) await tidyUp(deps, quorumId, state)
    }
  }
}

interface Issue {
  job: Job
  payload: PoolPayload
  state: QuorumState
  count: number
}

/** Replicas of many jobs in one transaction. */
async function issueAll({ database, ledger, onIssued }: QuorumDeps, issues: readonly Issue[]): Promise<true[]> {
  await database.hot.transaction(async (tx) => {
    const asked = issues.map(({ job, state, count }) => ({ quorumId: job.jobId, state, count }))
    const claimed = await claimIssues(tx, asked)
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

function replicasOf({ job, payload, state, count }: Issue) {
  const { jobId: quorumId, priority, accountId, traceId } = job
  const { laneId, quorum, acceptedAt, deadlineAt } = state
  const replica = { ...payload, callback_url: null, quorum_id: quorumId }
  const replicaOf = { quorumId, quorum, acceptedAt, deadlineAt }
  return Array.from({ length: count }, () => {
    const jobId = newJobId()
    return {
      submission: { jobId, kind: POOL_KIND, payload: replica, priority, accountId, traceId },
      task: { jobId, laneId, priority, requiresHash: payload.requires_hash, replicaOf },
    }
  })
}

/** False: somebody else is at it. If they die, the lease of this one's attempt runs out, and the loop comes back. */
async function end(
  { database, ledger, callbacks }: QuorumDeps,
  { jobId, accountId }: Job,
  payload: PoolPayload,
  state: QuorumState,
  decision: Decision & { what: 'agreed' | 'split' },
): Promise<boolean> {
  const acquired = await ledger.acquire({ jobId, owner: OWNER, leaseMs: LEASE_MS })
  if (!acquired.ok) return acquired.code === 'already_finished'
  const winner = decision.what === 'agreed' ? state.votes.find(({ vote }) => vote === decision.vote) : undefined
  const ended = winner === undefined ? splitEnd(decision) : await readEnd(database, winner.assignment_id)
  const result = {
    status: ended.status,
    assignment_id: winner?.assignment_id ?? null,
    output_hash: ended.outputHash,
    error_message: ended.errorMessage,
    results: state.votes.length,
  }
  const decided = decision.what === 'agreed' ? decidedEffects(jobId, decision) : []
  const { callback_url: url } = payload
  const callback =
    url === null || accountId === null
      ? []
      : [callbacks.queue({ jobId, clientId: accountId, url, body: callbackBody(jobId, ended) })]
  const { attemptId, owner } = acquired.job
  const answer = await ledger.finalize({ jobId, attemptId, owner, result, effects: [...decided, ...callback] })
  return answer.ok || answer.code === 'already_finished'
}

const decidedEffects = (jobId: string, { vote, failed }: Decision & { what: 'agreed' }) => [
  decideEffect(jobId, vote),
  ...(failed ? [] : [judgeEffect(jobId, vote)]),
]

const splitEnd = (decision: Decision): JobEnd => ({
  status: 'failed',
  output: null,
  outputHash: null,
  errorMessage:
    decision.what === 'split' ? `No quorum: of ${decision.results} results at most ${decision.most} agree.` : null,
  artifactUri: null,
  metrics: null,
  finishedAt: null,
})

/** The job has ended: nobody needs the replicas that have not, and results that came late are judged like the others. */
async function tidyUp({ store, ledger }: Settling, quorumId: string, state: QuorumState): Promise<void> {
  await Promise.all(
    state.outstanding.map((jobId) =>
      ledger.cancel({ jobId, reason: 'not needed any more', effects: [removeTask(jobId)] }),
    ),
  )
  const { vote } = (await store.read(quorumId)) ?? state
  if (vote !== null && vote.startsWith('output ')) await store.judgeLate(quorumId, vote)
  await store.markSettled(quorumId, state.touches)
}

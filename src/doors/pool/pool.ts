// The coordinator: everything behind the routes, wired together. It knows no HTTP: a simulation drives it as the routes do.
import { cancelJob, Kinds } from '../../core/executor/endings.ts'
import type { Kind } from '../../core/executor/kind.ts'
import type { Deps } from '../../core/door.ts'
import type { Loop } from '../../core/loop.ts'
import { openAssignments } from './matching/assignments.ts'
import { openBans, type Bans } from './workers/bans.ts'
import { openCallbacks, type Callbacks } from './clients/callbacks.ts'
import { openCanaryStock, type CanaryStock } from './canaries/canary-stock.ts'
import { openCandidates } from './matching/candidates.ts'
import { openDeadlines } from './tasks/deadlines.ts'
import { poolKinds } from './tasks/kinds.ts'
import { openLanes, type Lanes } from './tasks/requirement-classes.ts'
import { openMatchmaker, type Matchmaker } from './matching/matchmaker.ts'
import { openPoolMetrics, type PoolMetrics } from './metrics.ts'
import { openPresence } from './workers/presence.ts'
import { openQuorums, type Quorums } from './quorum/settle.ts'
import { openRepair } from './matching/repair.ts'
import { openResultStore } from './results/result-store.ts'
import { openHeartbeat, openPoll, type Heartbeat, type Poll } from './matching/runtime.ts'
import { openServerKeys, type ServerKeys } from './receipts/server-keys.ts'
import type { PoolSettings } from './settings.ts'
import { openSubmit, type Submission, type SubmitAnswer } from './results/submit-result.ts'
import { openSubmitJob, type SubmitJob } from './clients/submit-job.ts'
import { Turns } from './matching/fair-share.ts'
import { openWorkerStore, type WorkerStore } from './workers/worker-store.ts'

export interface Coordinator {
  leaseSec: number
  keys: ServerKeys
  kinds: readonly Kind[]
  lanes: Lanes
  workers: WorkerStore
  callbacks: Callbacks
  canaries: CanaryStock
  bans: Bans
  quorums: Quorums
  matchmaker: Matchmaker
  metrics: PoolMetrics
  submitJob: SubmitJob
  /** Ends a client's job, with all its replicas. */
  cancel(jobId: string, reason: string): ReturnType<typeof cancelJob>
  poll: Poll
  heartbeat: Heartbeat
  submit(submission: Submission): Promise<SubmitAnswer>
  /** For processes that work. */
  loops: readonly Loop[]
  close(): Promise<void>
}

export interface CoordinatorOptions {
  random: () => number
}

export async function openCoordinator(
  deps: Deps,
  settings: PoolSettings,
  { random }: CoordinatorOptions,
): Promise<Coordinator> {
  const { database, ledger, bus, log } = deps
  const leaseSec = settings.POOL_LEASE_SECONDS
  const leaseMs = leaseSec * 1000
  const holdSec = settings.POOL_HOLD_SECONDS_MAX
  const announce = () => matchmaker.announce()

  const keys = await openServerKeys(database)
  const callbacks = openCallbacks({ deliveries: deps.deliveries, master: keys.callbacks })
  const declared = poolKinds({ callbacks, extraReplicas: settings.POOL_EXTRA_REPLICAS })
  const kinds = new Kinds()
  kinds.add(declared)
  const lanes = openLanes({ database })
  const presence = openPresence({ database, leaseSec, holdSec })
  const assignments = openAssignments({ database, ledger, leaseMs })
  const canaries = openCanaryStock({ database, ledger, bus, lanes, onStocked: announce })
  const quorums = openQuorums({ database, ledger, callbacks, log, onIssued: announce })
  const repair = openRepair({ database, ledger, kinds, leaseMs, holdMs: holdSec * 1000, onFreed: announce })
  const metrics = openPoolMetrics({ ...deps, leaseSec, waiting: () => matchmaker.size() })
  const matchmaker: Matchmaker = openMatchmaker({
    ...deps,
    assignments,
    candidates: openCandidates({ database, leaseSec }),
    canaries,
    lanes,
    presence,
    repair,
    metrics,
    turns: new Turns(),
    leaseMs,
    canaryPercent: settings.POOL_CANARY_PERCENT,
    probationCanaries: settings.POOL_PROBATION_CANARIES,
    random,
  })
  const results = openResultStore({ database, banAfter: settings.POOL_BAN_AFTER })
  const cancel = async (jobId: string, reason: string) => {
    const answer = await cancelJob(ledger, kinds, jobId, reason)
    await quorums.settle(jobId) // of a plain job there is nothing to settle
    return answer
  }

  return {
    leaseSec,
    keys,
    kinds: declared,
    lanes,
    workers: openWorkerStore({ database, leaseSec }),
    callbacks,
    canaries,
    bans: openBans({ database, assignments, onFreed: announce }),
    quorums,
    matchmaker,
    metrics,
    submitJob: openSubmitJob({ ledger, lanes, settings, quorums, onReady: announce }),
    cancel,
    poll: openPoll({ canaries, presence, assignments, matchmaker, metrics }),
    heartbeat: openHeartbeat({ presence, assignments }),
    submit: openSubmit({ ledger, outbox: deps.outbox, leaseMs, results, callbacks, settle: quorums.settle }),
    loops: [repair.loop, quorums.loop, canaries.loop, openDeadlines({ database, cancel })],
    async close() {
      canaries.close()
      matchmaker.close()
      await quorums.close()
    },
  }
}

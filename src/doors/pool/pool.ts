// The parts of the pool, opened in the order in which a job passes through them: tasks, workers, matching, results, quorum,
// receipts. No part knows HTTP: the routes call them, and so does the simulation in the tests.
import { Kinds } from '../../core/executor/endings.ts'
import type { Deps } from '../../core/door.ts'
import { openCanaryList } from './canaries/canary-list.ts'
import { openCanaryStock } from './canaries/canary-stock.ts'
import { openCallbacks } from './clients/callbacks.ts'
import { openCancel } from './clients/cancel-job.ts'
import { openClientQuotas } from './clients/client-quotas.ts'
import { openSubmitJobs } from './clients/submit-job.ts'
import { openAssignments } from './matching/assignments.ts'
import { openCandidates } from './matching/candidates.ts'
import { FairShare } from './matching/fair-share.ts'
import { openMatchmaker, type TaskMatcher } from './matching/matchmaker.ts'
import { openPoll } from './matching/poll.ts'
import { openRepair } from './matching/repair.ts'
import { openPoolMetrics } from './metrics.ts'
import { openReplicatedJobs, type ReplicatedJobs } from './quorum/replicated-jobs.ts'
import { openQuorums } from './quorum/settle.ts'
import { openServerKeys } from './receipts/server-keys.ts'
import { openResultStore } from './results/result-store.ts'
import { openSubmitResult } from './results/submit-result.ts'
import type { PoolSettings } from './settings.ts'
import { openDeadlines } from './tasks/deadlines.ts'
import { poolKinds } from './tasks/kinds.ts'
import { openRequirementClasses } from './tasks/requirement-classes.ts'
import { openBans } from './workers/bans.ts'
import { openHeartbeat } from './workers/heartbeat.ts'
import { openPresence } from './workers/presence.ts'
import { openWorkerStore } from './workers/worker-store.ts'

type PoolDeps = Pick<Deps, 'database' | 'ledger' | 'quotas' | 'outbox' | 'deliveries' | 'bus' | 'metrics' | 'log'>

export async function openPoolParts(deps: PoolDeps, settings: PoolSettings, { random }: { random: () => number }) {
  const { database, ledger, bus } = deps
  const announce = () => matchmaker.announce()
  const jobs = await openJobs(deps, settings, announce)
  const { callbacks, classes, quorums, cancel } = jobs
  const staff = openWorkers({ ...deps, replicated: jobs.replicated }, settings, announce)
  const { leaseSec, leaseMs, presence, assignments } = staff

  const canaries = openCanaryStock({ database, ledger, bus, classes, onStocked: announce })
  const holdMs = settings.POOL_HOLD_SECONDS_MAX * 1000
  const repair = openRepair({ database, ledger, kinds: jobs.known, assignments, leaseMs, holdMs, onFreed: announce })
  const metrics = openPoolMetrics({ metrics: deps.metrics, database, leaseSec, waiting: () => matchmaker.size() })
  const probationCanaries = settings.POOL_PROBATION_CANARIES
  const matchmaker: TaskMatcher = openMatchmaker({
    bus,
    assignments,
    candidates: openCandidates(database),
    canaries,
    classes,
    presence,
    repair,
    metrics,
    fairShare: new FairShare(),
    leaseMs,
    canaryPercent: settings.POOL_CANARY_PERCENT,
    probationCanaries,
    random,
  })
  const results = openResultStore({ database, banAfter: settings.POOL_BAN_AFTER })

  return {
    ...jobs,
    ...staff,
    probationCanaries,
    matchmaker,
    poll: openPoll({ canaries, presence, assignments, matchmaker, metrics }),
    submitResult: openSubmitResult({
      ledger,
      outbox: deps.outbox,
      results,
      callbacks,
      settle: quorums.settle,
      onRetry: announce,
    }),
    canaries,
    canaryList: openCanaryList({ database, ledger, classes, stock: canaries }),
    repair,
    metrics,
    loops: {
      serving: matchmaker.loops,
      working: [repair.loop, quorums.loop, canaries.loop, openDeadlines({ database, cancel }), classes.loop],
    },
    async close() {
      canaries.close()
      matchmaker.close()
      await quorums.close()
    },
  }
}

/** What clients use. */
async function openJobs(
  { database, ledger, quotas, deliveries, log }: PoolDeps,
  settings: PoolSettings,
  announce: () => void,
) {
  const keys = await openServerKeys(database)
  const callbacks = openCallbacks({ deliveries, ledger, master: keys.callbacks })
  const kinds = poolKinds({ database, callbacks, extraReplicas: settings.POOL_EXTRA_REPLICAS })
  const known = new Kinds()
  known.add(kinds)
  const classes = openRequirementClasses({ database })
  const replicated = openReplicatedJobs({ ledger })
  const quorums = openQuorums({ database, ledger, replicated, callbacks, log, onIssued: announce })
  const clientQuotas = openClientQuotas({ database, quotas })
  const submitJobs = openSubmitJobs({ ledger, classes, settings, replicated, quotas: clientQuotas, onReady: announce })
  const cancel = openCancel({ ledger, kinds: known, quorums })
  return { keys, callbacks, kinds, known, classes, replicated, quorums, submitJobs, cancel }
}

/** What owners and their workers use, but for polling and submitting. */
function openWorkers(
  { database, ledger, quotas, replicated }: PoolDeps & { replicated: ReplicatedJobs },
  settings: PoolSettings,
  announce: () => void,
) {
  const leaseSec = settings.POOL_LEASE_SECONDS
  const leaseMs = leaseSec * 1000
  const presence = openPresence({ database, holdSec: settings.POOL_HOLD_SECONDS_MAX })
  const assignments = openAssignments({
    database,
    ledger,
    replicated,
    leaseSec,
    leaseMaxSec: settings.POOL_LEASE_MAX_SECONDS,
  })
  return {
    leaseSec,
    leaseMs,
    presence,
    assignments,
    workers: openWorkerStore({
      database,
      assignments,
      leaseSec,
      quotas,
      onFreed: announce,
    }),
    heartbeat: openHeartbeat({ presence, assignments }),
    bans: openBans({ database, assignments, onFreed: announce }),
  }
}

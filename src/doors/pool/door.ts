// The pool door: jobs for machines that nobody here trusts.
//
//   clients/   POST /v1/jobs ──► tasks/ a ledger job and its waiting task
//   workers/   register, heartbeat ──► matching/ POST /jobs/poll: a worker is matched with a task, and acquires the job
//   results/   POST /jobs/submit: the signed result is checked and finalized
//   quorum/    the results of replicas decide a replicated job
//   receipts/  a signed, chained receipt for every result
//   canaries/  jobs with known outputs, which measure the workers
//   live/      what pages watch over /live
//
// An assignment is an attempt at a ledger job that a remote worker holds: the poll acquires, the heartbeat renews, the submit
// finalizes, and the ledger decides each time. A job that several workers run (`replicas`, `quorum`) is a ledger job of kind
// `pool_quorum`, decided by one `pool` job per replica. So every assignment is an attempt at one `pool` job, and every job
// that a client can name is a ledger job.
//
// Beside the ledger, pool_tasks lists the `pool` jobs that have not ended, with their requirements and the worker that was
// assigned each. It changes in the ledger's own transactions and is never the truth: assigning a task is an acquire of its job.
import type { Door } from '../../core/door.ts'
import { detailBody } from '../../core/http/errors/detail.ts'
import { requireRole } from '../../core/http/auth/guard.ts'
import { auditRetention } from '../../core/retention.ts'
import { unitRandom } from '../../core/random.ts'
import { canaryRoutes } from './canaries/canary-routes.ts'
import { callbackSecretRoute } from './clients/callbacks.ts'
import { cancelJobRoute } from './clients/cancel-job.ts'
import { openJobResults } from './clients/job-results.ts'
import { readJobRoute } from './clients/read-job.ts'
import { listJobsRoute } from './clients/list-jobs.ts'
import { submitBatchRoute, submitJobRoute } from './clients/submit-job.ts'
import { whyRoute } from './clients/why.ts'
import { openLivePoolJobs } from './live/live-jobs.ts'
import { openLiveWorkers } from './live/live-workers.ts'
import { pollRoute } from './matching/poll.ts'
import { openPoolParts } from './pool.ts'
import { openQuorumViews } from './quorum/quorum-views.ts'
import { receiptTransfer } from './receipts/receipt-chain.ts'
import { receiptRoutes } from './receipts/receipt-routes.ts'
import { submitResultRoute } from './results/submit-result.ts'
import { POOL_SETTINGS } from './settings.ts'
import { banRoutes, workerAdminRoutes } from './workers/admin-routes.ts'
import { offlineWorkers } from './workers/attention.ts'
import { DELETE_OLD_BANS } from './workers/bans.ts'
import { heartbeatRoute } from './workers/heartbeat.ts'
import { ownerRoutes, reputationRoute } from './workers/owner-routes.ts'
import { workerFileRoutes } from './workers/worker-files.ts'

export const poolDoor: Door<typeof POOL_SETTINGS> = {
  name: 'pool',
  about: 'Jobs for remote workers that poll, and sign their results with Ed25519.',
  settings: POOL_SETTINGS,
  paths: ['/workers', '/workers/', '/jobs', '/jobs/', '/v1/'],
  errorBody: detailBody,
  validationStatus: 422,
  migrations: new URL('migrations/', import.meta.url),

  async open(deps, settings) {
    const { database, ledger, identity } = deps
    const pool = await openPoolParts(deps, settings, { random: unitRandom })
    const { keys, callbacks, workers, matchmaker, canaries, canaryList, bans, metrics } = pool
    const { leaseSec, probationCanaries } = pool
    const views = { database, results: openJobResults(database), quorums: openQuorumViews(database) }

    const liveJobs = openLivePoolJobs({ database, ledger })
    const liveWorkers = openLiveWorkers({ database, canaries, probationCanaries, leaseSec })

    return {
      kinds: pool.kinds,
      loops: { ...pool.loops, serving: [...pool.loops.serving, liveJobs.loop, liveWorkers.loop] },
      live: [liveJobs.topic, liveWorkers.topic],
      retention: [auditRetention(deps, DELETE_OLD_BANS)],
      attention: () => offlineWorkers(database, leaseSec),
      topics: [receiptTransfer({ database, key: keys.receipts }), ...callbacks.topics],
      stopServing: async () => matchmaker.close(),
      close: () => pool.close(),
      async routes(app) {
        await app.register(async (clients) => {
          clients.addHook('onRequest', requireRole(identity, 'CLIENT'))
          const allowInsecure = settings.ALLOW_INSECURE_CALLBACKS
          await clients.register(submitJobRoute({ submitJobs: pool.submitJobs, ledger, allowInsecure, ...views }))
          await clients.register(submitBatchRoute({ submitJobs: pool.submitJobs, allowInsecure }))
          await clients.register(listJobsRoute({ ledger, database }))
          await clients.register(readJobRoute({ ledger, ...views }))
          await clients.register(cancelJobRoute({ ledger, cancel: pool.cancel }))
          await clients.register(whyRoute({ ledger, database, leaseSec, canaries }))
          await clients.register(callbackSecretRoute(callbacks))
        })
        await app.register(async (owners) => {
          owners.addHook('onRequest', requireRole(identity, 'WORKER_OWNER'))
          await owners.register(ownerRoutes(workers))
          await owners.register(reputationRoute({ database, canaries, probationCanaries }))
          await owners.register(heartbeatRoute(pool.heartbeat))
          await owners.register(pollRoute(pool.poll))
          await owners.register(submitResultRoute({ submitResult: pool.submitResult, metrics }))
        })
        await app.register(workerFileRoutes)
        await app.register(receiptRoutes({ identity, database, ledger, keys, workers }))
        await app.register(async (admins) => {
          admins.addHook('onRequest', requireRole(identity, 'ADMIN'))
          await admins.register(workerAdminRoutes({ database, canaries, matchmaker, leaseSec, probationCanaries }))
          await admins.register(banRoutes(bans))
          await admins.register(canaryRoutes(canaryList))
        })
      },
    }
  },
}

// The pool door: work for machines that nobody here trusts.
//
//   client ── POST /v1/jobs ──► ledger job of kind `pool` ──► a worker polls: acquire ──► it submits, signed: finalize
//
// An assignment is an attempt at a ledger job that a remote worker holds: the poll acquires, the heartbeat renews, the submit
// finalizes, and the ledger decides each time. A job that several workers do (`replicas`, `quorum`) is a ledger job of kind
// `pool_quorum` whose hands are other jobs: one `pool` job per replica. When enough of them say the same, it is finalized with
// that. So every assignment is an attempt at one `pool` job, and every job that a client can name is a ledger job.
//
// Beside the ledger there is one line of tasks (pool_tasks): which `pool` jobs have not ended, what they ask for, and who was
// given them. It changes in the ledger's own transactions, and says where to look, never what is true: a task is given out by
// an acquire of the job, and refused by it. What becomes of a lease that runs out is noticed by a loop that frees what silent
// workers hold.
//
// Owners:   POST /workers/register, GET /workers, PUT /workers/{id}/key, GET /workers/{id}/reputation, /workers/{id}/receipts.
// Workers:  POST /workers/heartbeat, POST /jobs/poll, POST /jobs/submit.
// Clients:  POST /v1/jobs, GET /v1/jobs/{id}, POST /v1/jobs/{id}/cancel, GET /v1/jobs/{id}/why, /v1/jobs/{id}/receipts,
//           GET /v1/callbacks/secret. Everyone: GET /v1/receipts/key.
// Admins:   /admin/pool/status, /admin/pool/workers*, /admin/pool/canaries*, /admin/pool/receipts.
// Loops:    free what silent workers hold, settle replicated jobs, keep canaries in stock, end what is out of time.
// Outbox:   `pool_receipt` (a receipt for every result), `pool_callback` (how a job ended, to its client).
import type { Door } from '../../core/door.ts'
import { detailBody } from '../../core/http/errors/detail.ts'
import { requireRole } from '../../core/http/auth/guard.ts'
import { unitRandom } from '../../core/random.ts'
import { adminRoutes } from './workers/admin-routes.ts'
import { canaryRoutes } from './canaries/canary-routes.ts'
import { clientRoutes } from './clients/routes.ts'
import { openCoordinator } from './pool.ts'
import { heartbeatRoute } from './workers/heartbeat.ts'
import { pollRoute } from './matching/poll.ts'
import { receiptDelivery } from './receipts/receipt-chain.ts'
import { receiptRoutes } from './receipts/receipt-routes.ts'
import { POOL_SETTINGS } from './settings.ts'
import { submitRoute } from './results/route.ts'
import { workerRoutes } from './workers/owner-routes.ts'

export const poolDoor: Door<typeof POOL_SETTINGS> = {
  name: 'pool',
  about: 'Jobs for remote workers that poll, and sign their results with Ed25519.',
  settings: POOL_SETTINGS,
  paths: ['/workers', '/workers/', '/jobs', '/jobs/', '/v1/'],
  errorBody: detailBody,
  validationStatus: 422,
  migrations: new URL('migrations/', import.meta.url),

  async open(deps, settings) {
    const { database } = deps
    const coordinator = await openCoordinator(deps, settings, { random: unitRandom })
    const common = { ...deps, coordinator }

    return {
      kinds: coordinator.kinds,
      loops: { serving: coordinator.matchmaker.loops, working: coordinator.loops },
      topics: [receiptDelivery({ database, key: coordinator.keys.receipts }), ...coordinator.callbacks.topics],
      stopServing: async () => coordinator.matchmaker.close(),
      close: () => coordinator.close(),
      async routes(app) {
        const probationCanaries = settings.POOL_PROBATION_CANARIES
        await app.register(workerRoutes({ ...common, probationCanaries }))
        await app.register(async (scope) => {
          scope.addHook('onRequest', requireRole(deps.identity, 'WORKER_OWNER'))
          await scope.register(heartbeatRoute(coordinator))
          await scope.register(pollRoute(coordinator))
          await scope.register(submitRoute(coordinator))
        })
        await app.register(clientRoutes({ ...common, allowInsecure: settings.ALLOW_INSECURE_CALLBACKS }))
        await app.register(receiptRoutes(common))
        await app.register(adminRoutes({ ...common, probationCanaries }))
        await app.register(canaryRoutes(common))
      },
    }
  },
}

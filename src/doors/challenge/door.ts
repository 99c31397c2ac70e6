// The challenge door: signed challenges out, signed answers back. One process can be the Solver, the Challenger, or both.
//
//   Challenger ── POST /solve ──► Solver ── job of kind `solve` ──► POST /callback/{challenge_id} ──► Challenger
//
// Solver:      POST /solve, GET /stats.
// Challenger:  POST and GET /challenges, GET /challenges/{id}, POST /challenges/{id}/send, POST /callback/{challenge_id}.
// Admins:      GET /challenges/deliveries, POST /challenges/deliveries/replay, POST /challenges/deliveries/{id}/replay.
// Loops:       nonces are thrown away once an hour, the log of deliveries when it is old.
import type { Door } from '../../core/door.ts'
import { openOutbound } from '../../core/outbound/outbound.ts'
import { openThreads } from './bounded/threads.ts'
import { callbackRoute } from './challenger/callback.ts'
import { createChallengeRoute } from './challenger/create-challenge.ts'
import { deadLettersRoute } from './deliveries/dead-letters.ts'
import { deliveryLogCleaning } from './deliveries/delivery-log.ts'
import { CALLBACK_TOPIC, SEND_TOPIC, signedDeliveries } from './deliveries/delivery.ts'
import { errorBody } from './errors.ts'
import { openKeys } from './signing/keys.ts'
import { cleaningLoop } from './signing/nonces.ts'
import { openPlugins } from './problems/plugins.ts'
import { readChallengesRoute } from './challenger/read-challenges.ts'
import { noteSent, sendChallengeRoute } from './challenger/send-challenge.ts'
import { CHALLENGE_SETTINGS } from './settings.ts'
import { openVerifier } from './signing/verify.ts'
import { solveKind } from './solver/solve-kind.ts'
import { openSolveStore } from './solver/accept.ts'
import { solveRoute } from './solver/solve.ts'
import { BUILT_IN } from './problems/solve-problem.ts'
import { statsRoute } from './solver/stats.ts'
import { openTransport } from './transport.ts'

const PATHS = ['/solve', '/stats', '/callback/:challenge_id', '/challenges', '/challenges/:id', '/challenges/:id/send']

export const challengeDoor: Door<typeof CHALLENGE_SETTINGS> = {
  name: 'challenge',
  about:
    'RequestVerifier challenges out to a Solver, signed answers back to a Challenger; this server can be either or both.',
  settings: CHALLENGE_SETTINGS,
  paths: ['/solve', '/solve/', '/stats', '/callback/', '/challenges', '/challenges/'],
  errorBody,
  migrations: new URL('migrations/', import.meta.url),

  async open(deps, settings) {
    const { database, config } = deps
    const keys = openKeys(settings)
    const skewSec = settings.CLOCK_SKEW_SECONDS
    const allowInsecure = settings.ALLOW_INSECURE_CALLBACKS
    const outbound = openOutbound({ allowCidrs: config.OUTBOUND_ALLOW_CIDRS })
    const threads = openThreads()
    const plugins = await openPlugins(settings.SOLVER_PLUGINS, BUILT_IN)
    const sending = { ...deps, outbound }

    return {
      kinds: [
        solveKind({
          ...deps,
          threads,
          plugins,
          pluginMsMax: settings.SOLVER_PLUGIN_SECONDS * 1000,
          waitMsMax: settings.SOLVER_WAIT_SECONDS * 1000,
        }),
      ],
      loops: { working: [cleaningLoop(database, skewSec), deliveryLogCleaning(database, config.OUTBOX_KEPT_DAYS)] },
      deliveries: [
        ...signedDeliveries(sending, { direction: 'callback', topic: CALLBACK_TOPIC, keys: keys.challenger }),
        ...signedDeliveries(sending, {
          direction: 'send',
          topic: SEND_TOPIC,
          keys: keys.solver,
          onEnd: noteSent(deps),
        }),
      ],
      async close() {
        await threads.close()
        await plugins.close()
      },
      async routes(app) {
        openTransport(app, settings, PATHS)
        const bySolver = openVerifier({ database, side: 'solver', keys: keys.solver, skewSec, threads })
        await app.register(solveRoute({ signed: bySolver, store: openSolveStore(deps, skewSec), allowInsecure }))
        await app.register(statsRoute(deps))

        const byChallenger = openVerifier({ database, side: 'challenger', keys: keys.challenger, skewSec, threads })
        await app.register(callbackRoute({ database, signed: byChallenger, skewSec, threads }))
        await app.register(createChallengeRoute({ ...deps, threads }))
        await app.register(readChallengesRoute(deps))
        await app.register(sendChallengeRoute(deps, settings))
        await app.register(deadLettersRoute(deps))
      },
    }
  },
}

// The challenge door: signed challenges out, signed answers back. One process can be the Solver, the Challenger, or both.
//
//   Challenger ── POST /solve ──► Solver ── job of kind `solve` ──► POST /callback/{challenge_id} ──► Challenger
//
// signing/     keys, nonces and the checks of every signed request
// solver/      POST /solve, the kind `solve`, GET /stats
// problems/    math and text; captcha and code, which other doors solve; plug-ins
// bounded/     threads for work that untrusted input could make slow
// deliveries/  callbacks and sends on their way out, dead letters
// challenger/  POST and GET /challenges, GET /challenges/{id}, POST /challenges/{id}/send, POST /callback/{challenge_id}
import type { Door } from '../../core/door.ts'
import { openThreads } from './bounded/threads.ts'
import { callbackRoute } from './challenger/callback.ts'
import { createChallengeRoute } from './challenger/create-challenge.ts'
import { deadLettersRoute } from './deliveries/dead-letters.ts'
import { CALLBACK_TOPIC, SEND_TOPIC } from './deliveries/topics.ts'
import { errorBody } from './errors.ts'
import { openKeys } from './signing/keys.ts'
import { pruneNoncesLoop } from './signing/nonces.ts'
import { openLiveChallenges } from './challenger/live-challenges.ts'
import { openPlugins } from './problems/plugins.ts'
import { readChallengesRoute } from './challenger/read-challenges.ts'
import { noteSent, sendChallengeRoute } from './challenger/send-challenge.ts'
import { CHALLENGE_SETTINGS } from './settings.ts'
import { openVerifier } from './signing/verify.ts'
import { openResendCallback } from './solver/resend-callback.ts'
import { solveKind } from './solver/solve-kind.ts'
import { openSolveStore } from './solver/accept.ts'
import { solveRoute } from './solver/solve.ts'
import { statsRoute } from './solver/stats.ts'
import { openTransport } from './transport.ts'

const PATHS = ['/solve', '/stats', '/callback/:challenge_id', '/challenges', '/challenges/:id', '/challenges/:id/send']

export const challengeDoor: Door<typeof CHALLENGE_SETTINGS> = {
  name: 'challenge',
  about: 'Signed challenges out to a Solver, signed answers back to a Challenger; this server can be either or both.',
  settings: CHALLENGE_SETTINGS,
  paths: ['/solve', '/solve/', '/stats', '/callback/', '/challenges', '/challenges/'],
  errorBody,
  migrations: new URL('migrations/', import.meta.url),

  async open({ database, ledger, identity, quotas, capabilities, config, clock, outbox, deliveries }, settings) {
    const keys = openKeys(settings)
    const skewSec = settings.CLOCK_SKEW_SECONDS
    const allowInsecure = settings.ALLOW_INSECURE_CALLBACKS
    const threads = openThreads()
    const plugins = await openPlugins(settings.SOLVER_PLUGINS)
    const live = openLiveChallenges({ database, deliveries })

    return {
      kinds: [
        solveKind({
          database,
          ledger,
          deliveries,
          capabilities,
          threads,
          plugins,
          pluginMsMax: settings.SOLVER_PLUGIN_SECONDS * 1000,
          waitMsMax: settings.SOLVER_WAIT_SECONDS * 1000,
        }),
      ],
      loops: { serving: [live.loop], working: [pruneNoncesLoop(database, skewSec)] },
      live: [live.topic],
      topics: [
        ...deliveries.senders({
          topic: CALLBACK_TOPIC,
          keyOf: () => keys.challenger.signing,
          furtherSecrets: keys.challenger.further,
        }),
        ...deliveries.senders({
          topic: SEND_TOPIC,
          keyOf: () => keys.solver.signing,
          furtherSecrets: keys.solver.further,
          accepts: (status) => status === 202,
          onEnd: noteSent({ database }),
        }),
      ],
      async close() {
        await threads.close()
        await plugins.close()
      },
      async routes(app) {
        openTransport(app, settings, PATHS)
        const solveVerifier = openVerifier({ database, side: 'solver', keys: keys.solver, skewSec })
        const store = openSolveStore({ ledger }, skewSec)
        const resendCallback = openResendCallback({ database, outbox })
        await app.register(solveRoute({ verifier: solveVerifier, store, resendCallback, allowInsecure }))
        await app.register(statsRoute({ outbox, ledger, clock }))

        const callbackVerifier = openVerifier({ database, side: 'challenger', keys: keys.challenger, skewSec })
        await app.register(callbackRoute({ database, verifier: callbackVerifier, skewSec, threads }))
        await app.register(createChallengeRoute({ database, identity, quotas, threads }))
        await app.register(readChallengesRoute({ database, deliveries, identity }))
        await app.register(sendChallengeRoute({ database, ledger, identity, config, deliveries, outbox }, settings))
        await app.register(deadLettersRoute({ deliveries, identity }))
      },
    }
  },
}

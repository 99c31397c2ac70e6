// The desk: work for people. A program that meets a CAPTCHA, or anything else that needs a person, creates a task; an operator claims
// it with a lock and solves it; the program goes on with the session, which is cached for its domain. Only for domains that the owner
// of the deployment has listed as theirs to automate.
//
//   program ── POST /tasks ──► job of kind `desk` ◄── assign (lease), solve (result) ── operator
//
// domains/       the list of domains, the proxies: GET, POST, DELETE /domains
// tasks/         POST, GET /tasks, GET /tasks/pending, GET /tasks/{uuid}, PUT and GET /tasks/{uuid}/preview
// changes/       every change of a task or session as one declared value; the audit line, events and WebSockets that follow from it
// locks/         POST /tasks/{uuid}/assign, /reassign, /release, PATCH /tasks/{uuid}/status
// solutions/     POST /tasks/{uuid}/solve, /mark-unsolvable, /report-bad, /reveal; encryption; callbacks
// sessions/      GET, DELETE /sessions/{domain}
// supervision/   GET /audit, GET /operators, GET /figures, DELETE /expired; the sweeps
// redis-mirror/  what Redis shows of all this
// frame/         the solver frame: POST /tasks/{uuid}/frame, GET /tasks/{uuid}/cookies, the pages
// adapter/       other ways in: the common solver API, and `captcha` problems of other doors
import type { Deps, Door } from '../../core/door.ts'
import { redisUrl } from '../../core/config.ts'
import { detailBody } from '../../core/http/errors/detail.ts'
import { auditRetention } from '../../core/retention.ts'
import { StartError } from '../../core/start-error.ts'
import { ADAPTER_PATHS, adapterRoutes } from './adapter/adapter.ts'
import { assignRoute } from './locks/assign.ts'
import { reassignRoute } from './locks/reassign.ts'
import { figuresRoute } from './supervision/figures.ts'
import { deskTopic } from './changes/live-topic.ts'
import { countOpenTasks } from './tasks/create-store.ts'
import { createTaskRoute } from './tasks/create-task.ts'
import type { Desk } from './desk.ts'
import { domainsRoute } from './domains/domains.ts'
import { hostsOf, refuseAtFrameHost } from './frame/frame-headers.ts'
import { framePageRoutes, frameRoutes } from './frame/frame-routes.ts'
import { openFrame } from './frame/open-frame.ts'
import { openKeyRing } from './solutions/key-ring.ts'
import { deskKind } from './changes/kind.ts'
import { openDeskMetrics } from './metrics.ts'
import { overdueTasks } from './supervision/attention.ts'
import { mirrorDelivery } from './redis-mirror/mirror-delivery.ts'
import { openMirror } from './redis-mirror/mirror.ts'
import { openCaptchaCapability } from './adapter/captcha-capability.ts'
import { openPreviews, previewRoute } from './tasks/preview.ts'
import { openProxies } from './domains/proxies.ts'
import { readTasksRoute } from './tasks/read-tasks.ts'
import { releaseRoute } from './locks/release.ts'
import { reportBadRoute } from './solutions/report-bad.ts'
import { revealRoute } from './solutions/reveal.ts'
import { openSessionReader } from './sessions/session-store.ts'
import { openSessionWaits } from './sessions/session-waits.ts'
import { sessionsRoute } from './sessions/sessions.ts'
import { DESK_SETTINGS, type DeskSettings } from './settings.ts'
import { DELETE_OLD_LINES } from './changes/audit.ts'
import { openChanges } from './changes/change.ts'
import { socketRoute } from './changes/socket.ts'
import { callbackSecretRoute, openTaskCallbacks } from './solutions/callbacks.ts'
import { solveRoute } from './solutions/solve.ts'
import { auditTrailRoute } from './supervision/audit-trail.ts'
import { cleanUpRoute } from './supervision/clean-up.ts'
import { operatorsRoute } from './supervision/operators.ts'
import { sweepLoops } from './supervision/sweeps.ts'
import { openTaskStore } from './tasks/task-store.ts'
import { openTaskWaits } from './tasks/task-waits.ts'

const PATHS = ['/api/v1/captcha', '/api/v1/captcha/', '/internal/solver-frame/', '/ws/captcha', '/ws/captcha/']

export const deskDoor: Door<typeof DESK_SETTINGS> = {
  name: 'desk',
  about: 'Work for people: programs ask, operators claim and solve, for domains that the owner may automate.',
  settings: DESK_SETTINGS,
  paths: [...PATHS, ...ADAPTER_PATHS],
  errorBody: detailBody,
  validationStatus: 422,
  migrations: new URL('migrations/', import.meta.url),

  async open(deps, settings) {
    const { config, database, ledger, events, identity, bus, outbox, clock, log } = deps
    checkSettings(deps, settings)
    const sealer = await openKeyRing({
      configured: settings.CAPTCHA_ENCRYPTION_KEYS,
      dataDir: config.REEVE_DATA_DIR,
      database,
      log,
    })
    const proxies = openProxies(settings.CAPTCHA_PROXIES)
    const mirror = openMirror({ redisUrl: redisUrl(config), settings, database, sealer, proxies, log })
    const tasks = openTaskStore(database)
    const taskWaits = openTaskWaits(ledger, tasks)
    const sessions = openSessionReader(database)
    const sessionWaits = openSessionWaits(bus, sessions)
    const callbacks = openTaskCallbacks({ deliveries: deps.deliveries, sealer })
    const counts = openDeskMetrics(deps.metrics, database)
    const desk: Desk = {
      config,
      settings,
      log,
      database,
      ledger,
      events,
      identity,
      sealer,
      proxies,
      previews: openPreviews(deps.files, settings.CAPTCHA_PREVIEW_DIR),
      tasks,
      taskWaits,
      sessions,
      sessionWaits,
      changes: openChanges({ database, events, mirror, outbox, sessionWaits, callbacks, counts }),
      callbacks,
      openTasks: deps.quotas.open('open_tasks', (accountIds) => countOpenTasks(database, accountIds)),
      counts,
    }
    const frame = openFrame({ ...desk, outbound: deps.outbound })
    deps.capabilities.provide('captcha', openCaptchaCapability(desk))

    return {
      kinds: [deskKind({ changes: desk.changes, clock })],
      live: [deskTopic(desk)],
      attention: () => overdueTasks(database),
      frameOrigin: (request) => hostsOf(request, settings.FRAME_HOST, config).frame,
      topics: [mirrorDelivery({ mirror, tasks: desk.tasks }), ...callbacks.topics],
      retention: [auditRetention(deps, DELETE_OLD_LINES)],
      loops: { serving: [taskWaits.loop, sessionWaits.loop], working: [...sweepLoops(desk), ...mirror.loops] },
      async close() {
        taskWaits.close()
        sessionWaits.close()
        mirror.close()
        await frame.close()
      },
      async routes(app) {
        await app.register(framePageRoutes(desk, frame))
        await app.register(async (api) => {
          api.addHook('onRequest', refuseAtFrameHost(settings.FRAME_HOST))
          // Tasks, sessions and solutions belong in no cache.
          api.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'))
          for (const route of ROUTES) await api.register(route(desk))
          await api.register(callbackSecretRoute(desk))
          await api.register(frameRoutes(desk, frame))
          await api.register(adapterRoutes(desk))
        })
      },
    }
  },
}

/** Warns of what opens the desk to more than it should, and refuses what would show a page of a stranger on the console's host. */
function checkSettings({ config, log }: Pick<Deps, 'config' | 'log'>, settings: DeskSettings): void {
  if (settings.CAPTCHA_AUTH === 'off')
    log.warn('CAPTCHA_AUTH is off: everyone who can reach the desk may do everything there')
  if (settings.CAPTCHA_REDIS_SESSIONS === 'plain')
    log.warn('CAPTCHA_REDIS_SESSIONS is plain: every program that reaches Redis can read the cookies of all sessions')
  if (settings.FRAME_HOST.replace(/:\d+$/, '') === hostOf(config.PUBLIC_URL))
    throw new StartError(
      'FRAME_HOST must be another host name than that of PUBLIC_URL: pages of other sites are shown there.',
    )
}

const hostOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).hostname : null)

const ROUTES = [
  createTaskRoute,
  readTasksRoute,
  assignRoute,
  reassignRoute,
  solveRoute,
  releaseRoute,
  reportBadRoute,
  revealRoute,
  previewRoute,
  sessionsRoute,
  domainsRoute,
  auditTrailRoute,
  operatorsRoute,
  figuresRoute,
  cleanUpRoute,
  socketRoute,
]

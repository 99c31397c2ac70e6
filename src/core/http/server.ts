// One HTTP server for all doors. A door's routes are mounted in a scope with the door's error format; an unknown path gets
// the format of the door with the longest matching prefix. The order for every request is: ids, route, authentication
// (guards), body, schema, handler.
import { setMaxListeners } from 'node:events'
import type { AddressInfo } from 'node:net'
import websocket from '@fastify/websocket'
import type { FastifyInstance } from 'fastify'
import { adminRoutes } from '../admin/admin-routes.ts'
import { openLiveDeliveries } from '../admin/live-deliveries.ts'
import { openLiveContexts } from '../admin/job-context.ts'
import { openLiveJobs } from '../admin/live-jobs.ts'
import { openOverview } from '../admin/overview.ts'
import type { Deps, Door, OpenDoor } from '../door.ts'
import type { Feed } from '../feed/feed.ts'
import type { Kinds } from '../executor/endings.ts'
import { authRoutes } from '../identity/auth-routes.ts'
import { envelopeAuthRoutes } from '../identity/envelope-auth-routes.ts'
import { sessionRoutes } from '../identity/session-routes.ts'
import { eventsTopic } from '../live/events-topic.ts'
import { openLive } from '../live/live-route.ts'
import { consolePages } from '../pages/console-pages.ts'
import { openApp } from './app.ts'
import { allowCors } from './auth/origins.ts'
import { requireStaticToken } from './auth/static-token.ts'
import { forgetRequests } from './sockets/forget-request.ts'
import { limitSockets } from './sockets/socket-quota.ts'
import { openRevalidation } from './sockets/revalidate.ts'
import { detailBody } from './errors/detail.ts'
import { aboutRoute, type DoorState } from './routes/about.ts'
import { openDocs } from './routes/docs.ts'
import { openEnvelope } from './errors/envelope.ts'
import { handleError } from './errors/handle-error.ts'
import { healthRoutes, openReadiness, partChecks } from './routes/health.ts'
import { HUB_TIMES, openHub } from './sockets/hub.ts'
import { collectMethods } from './routes/methods.ts'
import { metricsRoute, openHttpMetrics, openLiveCounts, socketsOf } from './routes/metrics.ts'
import {
  closeConnectionsOf,
  refuseUnknown,
  traceRequests,
  websocketOptions,
  writeRequestLines,
  writeSocketLines,
} from './lifecycle.ts'
import { openClosing } from './closing.ts'
import type { Loop } from '../loop.ts'
import { quotaRoutes } from '../quotas/quota-routes.ts'
import type { ShownSetting } from '../settings.ts'
import { VERSION } from '../version.ts'
import { formatByPath, type ErrorFormat } from './errors/error-format.ts'
import type { Traces } from '../traces/traces.ts'

export interface HttpDeps extends Deps {
  feed: Pick<Feed, 'check'>
  /** Default: off. */
  traces?: Pick<Traces, 'onResponse'> | null
  /** The open doors. */
  doors: readonly OpenDoor[]
  /** All doors of this version, open or closed, for /about. Default: the open ones. */
  built?: readonly Pick<Door, 'name' | 'about'>[]
  /** The settings of the doors in force, for /admin/settings. */
  doorSettings?: readonly ShownSetting[]
  kinds: Kinds
  /** Descriptions of the storage for /admin/status, without secrets. */
  about: { database: string; feed: string; files: string }
}

export interface Http {
  app: FastifyInstance
  listen(): Promise<{ url: string }>
  /** To run while it listens. */
  loops: readonly Loop[]
  /** /readyz answers 503 from now on. `close` does this too; a load balancer may need it earlier. */
  drain(): void
  /** Stops listening, answers the requests in flight and closes WebSockets, within DRAIN_TIMEOUT_SEC. */
  close(): Promise<void>
}

const SOCKETS_CLOSE_MS = 2000

export async function openHttp(deps: HttpDeps): Promise<Http> {
  const { config, log } = deps
  const draining = new AbortController()
  setMaxListeners(0, draining.signal) // every waiting request adds one
  const app = await openApp({ config, log, formatOf: formatOfAll(deps) })
  const closeWithin = openClosing(app)
  const loops = await mount(app, deps, draining.signal)
  await app.ready()

  return {
    app,
    loops,
    async listen() {
      await app.listen({ host: config.SERVER_HOST, port: config.SERVER_PORT })
      return { url: addressOf(app) }
    },
    drain: () => draining.abort(),
    async close() {
      draining.abort()
      await closeWithin(config.DRAIN_TIMEOUT_SEC * 1000)
    },
  }
}

const DETAIL: ErrorFormat = { paths: [], errorBody: detailBody, validationStatus: 422 }

const formatOfDoor = ({ paths, errorBody, validationStatus = 400 }: Door): ErrorFormat => ({
  paths,
  errorBody: (report) => errorBody(report),
  validationStatus,
})

function formatOfAll({ doors, clock }: HttpDeps): (url: string) => ErrorFormat {
  const envelope = openEnvelope(clock)
  const enveloped: ErrorFormat = { paths: ['/api/'], errorBody: envelope.errorBody, validationStatus: 400 }
  return formatByPath([...doors.map(({ door }) => formatOfDoor(door)), enveloped], DETAIL)
}

/** Returns the loops to run while it serves. */
async function mount(app: FastifyInstance, deps: HttpDeps, draining: AbortSignal): Promise<Loop[]> {
  const { config, log, metrics, identity, clock, doors } = deps
  const version = VERSION
  const envelope = openEnvelope(clock)
  const limits = { messagesMax: config.WS_QUEUE_LIMIT_MESSAGES, bytesMax: config.WS_QUEUE_LIMIT_BYTES, ...HUB_TIMES }
  const hub = openHub(limits)
  const liveCounts = openLiveCounts()
  app.decorate('hub', hub)
  app.decorate('liveCounts', liveCounts)
  app.decorate('draining', draining)

  const methods = collectMethods(app)
  await app.register(websocket, websocketOptions(hub, SOCKETS_CLOSE_MS))
  const http = openHttpMetrics(metrics, () => socketsOf(app))
  app.decorate('httpTotals', http.totals)
  allowCors(app, (url) => methods.of(url))
  refuseUnknown(app, methods, draining)
  closeConnectionsOf(app, draining)
  writeRequestLines(app, http)
  if (deps.traces) traceRequests(app, deps.traces)
  writeSocketLines(app)
  forgetRequests(app)
  limitSockets(app, deps.quotas, config.QUOTA_SOCKETS)
  const revalidation = openRevalidation({ app, identity, metrics })
  const requireToken = requireStaticToken(config.METRICS_TOKEN)
  await openDocs(app, version, requireToken)

  await app.register(healthRoutes({ readiness: openReadiness(partChecks(deps), log), draining, envelope }))
  await app.register(metricsRoute({ registry: metrics, http, liveCounts, envelope, requireToken }))
  await app.register(authRoutes({ identity }))
  await app.register(sessionRoutes({ identity, config }))
  await app.register(quotaRoutes({ identity, quotas: deps.quotas }))
  await app.register(envelopeAuthRoutes({ identity, envelope }))
  await app.register(adminRoutes({ ...deps, version, startedAt: clock.now() }))
  await app.register(aboutRoute({ identity, config, version, doors: doorStates(deps) }))
  await app.register(consolePages({ doors }))
  const jobs = openLiveJobs(deps.ledger)
  const contexts = openLiveContexts(deps)
  const deliveries = openLiveDeliveries(deps.deliveries)
  const overview = openOverview({ ...deps, dataDir: config.REEVE_DATA_DIR, httpTotals: http.totals })
  const topics = [
    eventsTopic(deps.events),
    ...jobs.topics,
    contexts.topic,
    deliveries.topic,
    overview.topic,
    ...doors.flatMap(({ opened }) => opened.live ?? []),
  ]
  const live = openLive({ identity, topics, log })
  await app.register(live.routes)

  for (const { door, opened } of doors) {
    const { routes } = opened
    if (routes === undefined) continue
    await app.register(async (scope) => {
      scope.setErrorHandler(handleError(() => formatOfDoor(door)))
      await scope.register(routes)
    })
  }
  return [hub.loop, revalidation, live.loop, jobs.loop, contexts.loop, deliveries.loop, overview.loop]
}

function doorStates({ doors, built = doors.map(({ door }) => door) }: HttpDeps): DoorState[] {
  return built.map(({ name, about }) => {
    const isOpen = doors.some(({ door }) => door.name === name)
    return { name, about, state: isOpen ? 'open' : 'closed' }
  })
}

export function addressOf(app: FastifyInstance): string {
  const address: AddressInfo | string | null = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen.')
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host}:${address.port}`
}

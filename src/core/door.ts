// A door is one declared value: what it is called, which paths are its own, how it words an error, what it stores, and what
// it opens: routes, kinds of jobs, loops, deliveries.
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Attention } from './admin/overview.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Database } from './db/database.ts'
import type { Bus } from './events/bus.ts'
import type { Events } from './events/events.ts'
import type { FileStore } from './files/file-store.ts'
import type { Kind } from './executor/kind.ts'
import type { ErrorReport } from './http/errors/http-error.ts'
import type { Identity } from './identity/identity.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { LiveTopic } from './live/topic.ts'
import type { Loop } from './loop.ts'
import type { Metrics } from './metrics.ts'
import type { Capabilities } from './capabilities.ts'
import type { Deliveries } from './deliveries/deliveries.ts'
import type { Outbound } from './outbound/outbound.ts'
import type { Delivery, Transfer } from './outbox/delivery.ts'
import type { Outbox } from './outbox/outbox.ts'
import type { Prunable } from './retention.ts'
import type { Quotas } from './quotas/quotas.ts'
import type { Settings, Values } from './settings.ts'

export interface Deps {
  config: Config
  database: Database
  ledger: Ledger
  events: Events
  bus: Bus
  files: FileStore
  identity: Identity
  /** What doors do for each other. */
  capabilities: Capabilities
  quotas: Quotas
  outbox: Outbox
  /** Signed requests to addresses that somebody outside gave. */
  deliveries: Deliveries
  /** The guard through which such requests leave. */
  outbound: Outbound
  metrics: Metrics
  log: Logger
  clock: Clock
}

export interface Opened {
  routes?: FastifyPluginAsync
  kinds?: readonly Kind[]
  loops?: {
    /** Run in every process that serves HTTP. */
    serving?: readonly Loop[]
    /** Run in every process that works. */
    working?: readonly Loop[]
  }
  /** What the door deletes when it is old, beside the rows of old jobs (`Kind.releaseOld`). */
  retention?: readonly Prunable[]
  /** How rows of this door's topics leave the outbox. */
  topics?: readonly (Delivery | Transfer)[]
  /** What an admin should look at, for the overview. Asked every ten seconds at most. */
  attention?: () => Promise<Attention[]>
  /** What pages may watch over /live. */
  live?: readonly LiveTopic[]
  /** The origin of the frames that the console's pages of this door show, for the Content-Security-Policy. */
  frameOrigin?: (request: FastifyRequest) => string
  /** Runs in a process that serves HTTP once its serving loops have stopped, while requests and jobs in flight still finish. */
  stopServing?: () => Promise<void>
  /** Runs when all loops have stopped and no job is in flight, before the database closes. */
  close?: () => Promise<void>
}

/** A door of this process, and what it opened. */
export interface OpenDoor {
  door: Door
  opened: Opened
}

export interface Door<S extends Settings = Settings> {
  name: string
  /** One sentence, for /about. */
  about: string
  settings: S
  /** Paths, or prefixes that end in a slash, whose errors have this door's format. */
  paths: readonly string[]
  errorBody(report: ErrorReport): object
  /** The status of a body or query that violates its schema. Default 400; doors with FastAPI's format use 422. */
  validationStatus?: 400 | 422
  migrations: URL | null
  open(deps: Deps, settings: Values<S>): Opened | Promise<Opened>
}

// Reeve, on one page: settings → database → engine → doors → listen → loops, and the way back.
//
// `serve` answers HTTP and WebSocket; `work` runs executors and background loops; `up` does both in one process. Any number of processes of
// either role may run on one PostgreSQL (and Redis): nothing here assumes that it is alone.
import type { Logger } from 'pino'
import { systemClock } from './core/clock.ts'
import type { AllSettings, Config } from './core/config.ts'
import { CloseStack } from './core/concurrency/close-stack.ts'
import type { Deps, OpenDoor } from './core/door.ts'
import type { Database } from './core/db/database.ts'
import { depsOf, openEngine, type Engine } from './core/engine.ts'
import { openFiles } from './core/files/open-files.ts'
import { echo } from './core/executor/echo.ts'
import type { ExecutorOptions } from './core/executor/executor.ts'
import { openBackground } from './core/executor/background.ts'
import { openHttp, type Http } from './core/http/server.ts'
import { openGauges } from './core/watch/gauges.ts'
import { openWorkerHttp, type WorkerHttp } from './core/watch/worker-http.ts'
import { partChecks } from './core/http/routes/health.ts'
import type { DueCheck } from './core/due-check.ts'
import { startLoops, type Loop } from './core/loop.ts'
import { openIdentity } from './core/identity/identity.ts'
import { openMetrics } from './core/metrics.ts'
import { migrate } from './core/db/migrate.ts'
import { retentionLoop, type Prunable } from './core/retention.ts'
import { openDispatcher } from './core/outbox/dispatcher.ts'
import { openOutboxMetrics } from './core/outbox/metrics.ts'
import { shownSettings } from './core/settings.ts'
import { StartError } from './core/start-error.ts'
import { openStorage, type Storage } from './core/db/storage.ts'
import { upkeepLoops } from './core/upkeep.ts'
import { DOORS } from './doors/doors.ts'
import { doorSettings, migrationFolders, streamKeys } from './doors/outline.ts'

export type ProcessRole = 'up' | 'serve' | 'work'

export interface Start {
  settings: AllSettings
  role: ProcessRole
  log: Logger
  /** Tests stop the process at a step of its work. */
  onStep?: ExecutorOptions['onStep']
}

export interface Running {
  /** Where it listens. A process that only works answers health, readiness and metrics there. */
  url: string | null
  /** Resolves when this process takes jobs of all its kinds. */
  prepared(): Promise<unknown>
  /** To be printed once, on the first start of a deployment. */
  firstAdmin: { username: string; password: string } | null
  /** Resolves with a sentence if it cannot go on. */
  lost: Promise<string>
  /** Stops in order: listeners and serving loops, jobs in flight, the other loops, doors, connections; PostgreSQL last. */
  stop(): Promise<void>
}

/** Starts a process of this role. What it had opened is closed again if a later step fails. */
export async function start(options: Start): Promise<Running> {
  const opened = new CloseStack(options.log)
  for (const warning of options.settings.warnings) options.log.warn(warning)
  try {
    const storage = await openStorage(options.settings.core, options.log)
    opened.push('database', storage.close)
    return await startOn(storage, options, opened)
  } catch (error) {
    await opened.close()
    throw error
  }
}

async function startOn(storage: Storage, { settings, role, log, onStep }: Start, opened: CloseStack): Promise<Running> {
  const { core: config } = settings
  const { database } = storage
  await migrate(database, migrationFolders())

  const metrics = openMetrics()
  const engine = await openEngine({ config, database, metrics, log, streamKeys: streamKeys(settings) })
  opened.push('engine', engine.close)
  const identity = openIdentity({ database, config })
  const { files, about: aboutFiles } = openFiles(config)
  const { created: firstAdmin } = await identity.ensureAdmin()

  const deps = depsOf(engine, { config, database, files, identity, metrics, log })
  const doors = await openDoors(deps, settings, opened)
  const kinds = [echo, ...doors.flatMap(({ opened }) => opened.kinds ?? [])]
  engine.addKinds(kinds)

  const topics = [...engine.topics, ...doors.flatMap(({ opened }) => opened.topics ?? [])]
  const dispatcher = openDispatcher(database, topics, openOutboxMetrics(metrics))
  openGauges(metrics, { ...engine, config, database, topics: topics.map(({ topic }) => topic) })
  engine.onOutbox(dispatcher.wake)

  const works = role !== 'serve'
  const everywhere = [
    ...storage.loops,
    ...engine.ledger.loops,
    ...engine.quotas.loops,
    ...dispatcher.loops,
    ...(engine.traces?.loops ?? []),
  ]
  const prunables = doors.flatMap(({ opened }) => opened.retention ?? [])
  const working = works
    ? [...workingLoops(engine, database, config, prunables), ...identity.loops, ...workingLoopsOf(doors)]
    : []
  const loops = [...everywhere, ...working]
  const background = openBackground({ config, engine, kinds: works ? kinds : [], loops, log, onStep })
  const watched = role === 'work' ? await openWatched(deps, engine, opened) : null
  opened.push('background', background.stop)
  if (watched !== null) opened.push('readiness', watched.drain)
  const about = { database: storage.about, feed: engine.about, files: aboutFiles }
  const http =
    role === 'work'
      ? null
      : await openHttp({
          ...deps,
          feed: engine.feed,
          traces: engine.traces,
          kinds: engine.kinds,
          doors,
          doorSettings: shownSettings(doorSettings(), settings.doors),
          built: DOORS,
          about,
        })
  const serving = http === null ? null : openServing(http, doors, engine.dueCheck, log)
  if (serving !== null) opened.push('serving', serving.stop)
  const url = http === null ? ((await watched?.listen()) ?? null) : await listen(http, config)
  background.start()
  serving?.start()

  return { url, firstAdmin, prepared: background.prepared, lost: storage.lost, stop: () => opened.close() }
}

/** It stays open while the process drains: whoever watches sees that. */
async function openWatched(deps: Deps, { feed }: Engine, opened: CloseStack): Promise<WorkerHttp> {
  const watched = await openWorkerHttp({ ...deps, checks: partChecks({ ...deps, feed }) })
  opened.push('port of the worker', watched.close)
  return watched
}

const workingLoops = (engine: Engine, database: Database, config: Config, ofDoors: readonly Prunable[]): Loop[] => [
  ...upkeepLoops({ ...engine, buryEveryMs: config.JOB_RECLAIM_INTERVAL_SEC * 1000 }),
  retentionLoop({ ...engine, database, config, clock: systemClock, ofDoors }),
]

const workingLoopsOf = (doors: readonly OpenDoor[]): Loop[] =>
  doors.flatMap(({ opened }) => opened.loops?.working ?? [])

/** The loops of a process that serves. They stop when it begins to drain, so that another process takes over at once. */
function openServing(http: Http, doors: readonly OpenDoor[], dueCheck: DueCheck, log: Logger) {
  const loops = dueCheck.over([...http.loops, ...doors.flatMap(({ opened }) => opened.loops?.serving ?? [])])
  const stopping = new CloseStack(log)
  for (const { door, opened } of doors) {
    if (opened.stopServing !== undefined) stopping.push(door.name, opened.stopServing)
  }
  return {
    start() {
      const running = startLoops(loops, log)
      stopping.push('serving loops', running.stop)
    },
    async stop() {
      const handedOver = stopping.close()
      await http.close().finally(() => handedOver)
    },
  }
}

async function listen(http: Http, { SERVER_HOST, SERVER_PORT }: Config): Promise<string> {
  try {
    return (await http.listen()).url
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartError(`Cannot listen on ${SERVER_HOST}:${SERVER_PORT}: ${why}. Set SERVER_HOST or SERVER_PORT.`)
  }
}

/** A closed door (DOORS) keeps its tables and has no routes, kinds or loops. */
export async function openDoors(deps: Deps, settings: AllSettings, closing: CloseStack): Promise<OpenDoor[]> {
  const asked = deps.config.DOORS
  const names = DOORS.map(({ name }) => name)
  const unknown = asked.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new StartError(`DOORS: unknown door "${unknown}", expected ${names.join(', ')}`)
  const open = DOORS.filter((door) => asked.length === 0 || asked.includes(door.name))
  const doors: OpenDoor[] = []
  for (const door of open) {
    const opened = await door.open(deps, settings.doors)
    if (opened.close !== undefined) closing.push(door.name, opened.close)
    doors.push({ door, opened })
  }
  return doors
}

// Everything that runs beside the listeners of a process: an executor for every kind that runs here, and every loop.
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Engine } from '../engine.ts'
import { startLoops, type Loop, type RunningLoops } from '../loop.ts'
import { openExecutor, type Executor, type ExecutorOptions } from './executor.ts'
import type { Kind } from './kind.ts'

interface BackgroundDeps {
  config: Config
  engine: Engine
  /** The kinds that run here. Empty in a process that only serves. */
  kinds: readonly Kind[]
  loops: readonly Loop[]
  log: Logger
  onStep?: ExecutorOptions['onStep']
}

interface Background {
  start(): void
  /** After `start`: every kind was prepared, or left to other processes. */
  prepared(): Promise<unknown>
  /** Executors first, while the loops still run: what is in flight may need them. */
  stop(): Promise<void>
}

export function openBackground({ config, engine, kinds, loops, log, onStep }: BackgroundDeps): Background {
  const runnable = kinds.filter((kind) => kind.run !== undefined)
  const executors = runnable.map((kind) => ({
    kind,
    executor: openExecutor({
      kind,
      slots: kind.slots ?? config.WORK_CONCURRENCY,
      ledger: engine.ledger,
      feed: engine.feed,
      leaseMs: config.JOB_LEASE_SEC * 1000,
      heartbeatMs: config.JOB_HEARTBEAT_SEC * 1000,
      retry: { baseMs: config.JOB_RETRY_BASE_MS, maxMs: config.JOB_RETRY_MAX_MS },
      metrics: engine.executorMetrics,
      log,
      onStep,
    }),
  }))
  const preparing: Promise<void>[] = []
  let running: RunningLoops | null = null
  let isStopping = false
  const startExecutor = async ({ name, prepare }: Kind, executor: Executor) => {
    try {
      if (prepare !== undefined) await prepare()
      if (!isStopping) executor.start()
    } catch (error) {
      log.error({ err: error, kind: name }, 'this process does not run jobs of this kind')
    }
  }
  const watched = engine.dueCheck.over([...loops, ...engine.feed.loops(runnable.map((kind) => kind.name))])

  return {
    start() {
      running = startLoops([engine.dueCheck.loop, ...watched], log)
      for (const { kind, executor } of executors) preparing.push(startExecutor(kind, executor))
    },
    prepared: () => Promise.all(preparing),
    async stop() {
      isStopping = true
      await Promise.all(preparing)
      await Promise.all(executors.map(({ executor }) => executor.drain(config.DRAIN_TIMEOUT_SEC * 1000)))
      await running?.stop()
    },
  }
}

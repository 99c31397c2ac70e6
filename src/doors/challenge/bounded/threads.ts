// Work that untrusted input could make slow (an expression, a regular expression on megabytes) runs in threads, for a bounded
// time: a thread that takes longer is terminated and replaced, and its task has timed out. The bound is processor time, so
// that a busy machine does not make a cheap task time out.
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { Overloaded } from '../../../core/values/outcome.ts'
import { besideAs, startThread } from '../../../core/concurrency/start-thread.ts'
import type { Task } from './task.ts'
import type { Performed } from './worker.ts'

const MEMORY_MB_MAX = 256
const THREADS = 2
const WAITING_MAX = 10_000
/** A task that takes longer than this is stuck. */
export const WALL_MS_MAX = 60_000
const CHECK_EVERY_MS = 10

export type TaskAnswer = Performed | { ok: false; code: 'TIMEOUT'; message: string }

export interface Bound {
  /** Processor time, from when a thread takes the task. */
  cpuMs: number
  /** Elapsed time, if the caller waits no longer than that. */
  wallMs?: number
}

export interface Threads {
  run(task: Task, bound: Bound): Promise<TaskAnswer>
  /** Keeps a thread ready for the next task: loading its modules takes a while. */
  warm(): void
  close(): Promise<void>
}

interface QueuedTask {
  task: Task
  bound: Bound
  done(answer: TaskAnswer): void
}

/** `cpuMs`: processor time of this process so far. */
export function openThreads(cpuMs: () => number = spentByProcess): Threads {
  const waiting: QueuedTask[] = []
  const idle: Worker[] = []
  /** Each with a promise that resolves when it has loaded its modules and takes tasks. */
  const all = new Map<Worker, Promise<unknown>>()
  let isClosed = false

  const start = (): Worker => {
    const worker = startThread(besideAs('worker', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX },
    })
    all.set(
      worker,
      once(worker, 'message').catch(() => {}),
    )
    worker.once('exit', () => {
      all.delete(worker)
      const at = idle.indexOf(worker)
      if (at !== -1) idle.splice(at, 1)
    })
    return worker
  }

  const warm = () => {
    if (!isClosed && idle.length === 0 && all.size < THREADS) idle.push(start())
  }

  const next = () => {
    if (isClosed || waiting.length === 0) return
    const worker = idle.pop() ?? (all.size < THREADS ? start() : undefined)
    if (worker === undefined) return
    const one = waiting.shift()
    if (one !== undefined) void give(worker, one)
  }

  const give = async (worker: Worker, { task, bound, done }: QueuedTask) => {
    await all.get(worker)
    const answer = await performed(worker, task, (onOver) => startClock(bound, cpuMs, onOver))
    if (answer === null || answer === 'timeout') {
      all.delete(worker)
      await worker.terminate()
      warm()
    } else {
      idle.push(worker)
    }
    if (answer === null) done({ ok: false, code: 'TOO_LARGE', message: 'The problem needs too much memory.' })
    else if (answer === 'timeout')
      done({ ok: false, code: 'TIMEOUT', message: `Not solved within ${leastOf(bound)} ms.` })
    else done(answer)
    next()
  }

  return {
    run(task, bound) {
      if (waiting.length >= WAITING_MAX || isClosed)
        return Promise.reject(new Overloaded('Too many bounded tasks are waiting.'))
      return new Promise((done) => {
        waiting.push({ task, bound, done })
        next()
      })
    },
    warm,
    async close() {
      isClosed = true
      await Promise.all([...all.keys()].map((worker) => worker.terminate()))
    },
  }
}

const leastOf = ({ cpuMs, wallMs = cpuMs }: Bound): number => Math.min(cpuMs, wallMs)

/** Null: the thread died. */
function performed(
  worker: Worker,
  task: Task,
  limit: (onOver: () => void) => TaskTimer,
): Promise<Performed | 'timeout' | null> {
  return new Promise((resolve) => {
    const settle = (answer: Performed | 'timeout' | null) => {
      clock.stop()
      worker.off('message', settle).off('error', onDeath).off('exit', onDeath)
      resolve(answer)
    }
    const onDeath = () => settle(null)
    const clock = limit(() => settle('timeout'))
    worker.on('message', settle).on('error', onDeath).on('exit', onDeath)
    worker.postMessage(task, [])
  })
}

interface TaskTimer {
  stop(): void
}

/** A task only computes, so it cannot have used more processor time than the whole process. */
function startClock({ cpuMs, wallMs = WALL_MS_MAX }: Bound, spentMs: () => number, onOver: () => void): TaskTimer {
  const overAt = spentMs() + cpuMs
  const look = () => {
    const leftMs = overAt - spentMs()
    if (leftMs <= 0) onOver()
    else cpuTimer = setTimeout(look, Math.max(CHECK_EVERY_MS, leftMs))
  }
  let cpuTimer = setTimeout(look, cpuMs)
  const wallTimer = setTimeout(onOver, wallMs)
  return {
    stop() {
      clearTimeout(cpuTimer)
      clearTimeout(wallTimer)
    },
  }
}

function spentByProcess(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

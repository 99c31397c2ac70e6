// Work that a stranger's input could make slow (an expression, a regular expression on megabytes) runs beside the event
// loop, for a bounded time: a thread that takes longer is ended and replaced, and the task has timed out. The bound is the
// processor's time: on a busy machine the sum of two numbers may take seconds, and is still no reason to give up.
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { Overloaded } from '../../../core/outcome.ts'
import { besideAs, startThread } from '../../../core/start-thread.ts'
import type { Task } from './task.ts'
import type { Performed } from './worker.ts'

const MEMORY_MB_MAX = 256
const THREADS = 2
const WAITING_MAX = 10_000
/** Nobody waits longer for a thread: it is stuck. */
export const WALL_MS_MAX = 60_000
const LOOK_AGAIN_MS = 10

export type TaskAnswer = Performed | { ok: false; code: 'TIMEOUT'; message: string }

export interface Bound {
  /** Of the processor, from the moment a thread takes the task. */
  cpuMs: number
  /** Of the day, if somebody waits no longer than that. */
  wallMs?: number
}

export interface Threads {
  run(task: Task, bound: Bound): Promise<TaskAnswer>
  /** Starts the threads before there is a task: what they need takes a while to load. */
  warm(): void
  close(): Promise<void>
}

interface QueuedTask {
  task: Task
  bound: Bound
  done(answer: TaskAnswer): void
}

/** `cpuMs`: what this process has had of the processor so far. */
export function openThreads(cpuMs: () => number = spentByProcess): Threads {
  const waiting: QueuedTask[] = []
  const idle: Worker[] = []
  /** Each with the moment from which it takes tasks: what it needs has been loaded. */
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
    if (isClosed) return
    while (all.size < THREADS) idle.push(start())
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
        return Promise.reject(new Overloaded('Too much bounded work waits.'))
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
    worker.postMessage(task, task.task === 'read' ? [task.bytes.buffer] : [])
  })
}

interface TaskTimer {
  stop(): void
}

/** A task computes and waits for nothing, so that it has not had its time before the whole process has. */
function startClock({ cpuMs, wallMs = WALL_MS_MAX }: Bound, spentMs: () => number, onOver: () => void): TaskTimer {
  const overAt = spentMs() + cpuMs
  const look = () => {
    const leftMs = overAt - spentMs()
    if (leftMs <= 0) onOver()
    else cpuTimer = setTimeout(look, Math.max(LOOK_AGAIN_MS, leftMs))
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

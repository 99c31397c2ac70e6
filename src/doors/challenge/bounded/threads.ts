// Work that a stranger's input could make slow (an expression, a regular expression on megabytes) runs beside the event
// loop, for a bounded time: a thread that takes longer is ended and replaced, and the task has timed out.
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { Overloaded } from '../../../core/batch.ts'
import { besideAs, startThread } from '../../../core/start-thread.ts'
import type { Task } from './task.ts'
import type { Performed } from './worker.ts'

const MEMORY_MB_MAX = 256
const THREADS = 2
const WAITING_MAX = 10_000

export type Answer = Performed | { ok: false; code: 'TIMEOUT'; message: string }

export interface Threads {
  /** The time counts from the moment a thread takes it. */
  run(task: Task, timeoutMs: number): Promise<Answer>
  /** Starts the threads before there is a task: what they need takes a while to load. */
  warm(): void
  close(): Promise<void>
}

interface Waiting {
  task: Task
  timeoutMs: number
  done(answer: Answer): void
}

export function openThreads(): Threads {
  const waiting: Waiting[] = []
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

  const give = async (worker: Worker, { task, timeoutMs, done }: Waiting) => {
    await all.get(worker)
    const answer = await performed(worker, task, timeoutMs)
    if (answer === null || answer === 'timeout') {
      all.delete(worker)
      await worker.terminate()
      warm()
    } else {
      idle.push(worker)
    }
    if (answer === null) done({ ok: false, code: 'TOO_LARGE', message: 'The problem needs too much memory.' })
    else if (answer === 'timeout') done({ ok: false, code: 'TIMEOUT', message: `Not solved within ${timeoutMs} ms.` })
    else done(answer)
    next()
  }

  return {
    run(task, timeoutMs) {
      if (waiting.length >= WAITING_MAX || isClosed)
        return Promise.reject(new Overloaded('Too much bounded work waits.'))
      return new Promise((done) => {
        waiting.push({ task, timeoutMs, done })
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

/** Null: the thread died. */
function performed(worker: Worker, task: Task, timeoutMs: number): Promise<Performed | 'timeout' | null> {
  return new Promise((resolve) => {
    const settle = (answer: Performed | 'timeout' | null) => {
      clearTimeout(timer)
      worker.off('message', settle).off('error', onDeath).off('exit', onDeath)
      resolve(answer)
    }
    const onDeath = () => settle(null)
    const timer = setTimeout(() => settle('timeout'), timeoutMs)
    worker.on('message', settle).on('error', onDeath).on('exit', onDeath)
    worker.postMessage(task, task.task === 'read' ? [task.bytes.buffer] : [])
  })
}

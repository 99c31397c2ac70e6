// Threads that read packages, with limits on their memory and time. Starting one takes longer than reading an ordinary
// package, so a thread is kept for the next one; whichever fails or takes too long is ended.
import type { Worker } from 'node:worker_threads'
import { Semaphore } from '../../../core/concurrency/semaphore.ts'
import { besideAs, startThread } from '../../../core/concurrency/start-thread.ts'
import { PackageError } from '../package/package.ts'
import type { InspectedPackage, InspectRequest } from './inspect-package.ts'
import type { InspectAnswer } from './inspect-thread.ts'

const MEMORY_MB_MAX = 256
const TIME_MS_MAX = 300_000
const THREADS_MAX = 2
/** Further imports are refused: their clients would give up before their turn. */
const WAITING_MAX = 100
const IDLE_MS_MAX = 30_000

const turns = new Semaphore({ permits: THREADS_MAX, waitingMax: WAITING_MAX })
const idle = new Set<InspectThread>()

/** Throws PackageError where the package is at fault, and the signal's reason if it aborts before the package's turn. */
export const inspectInThread = (request: InspectRequest, signal?: AbortSignal): Promise<InspectedPackage> =>
  turns.run(async () => {
    signal?.throwIfAborted()
    const [kept] = idle
    const thread = kept ?? new InspectThread()
    const answer = await thread.ask(request)
    if (!answer.ok) throw new PackageError(answer.message)
    return answer.inspected
  })

class InspectThread {
  readonly #worker: Worker
  #waiting: { resolve(answer: InspectAnswer): void; reject(error: unknown): void } | null = null
  #idleTimer: NodeJS.Timeout | undefined

  constructor() {
    this.#worker = startThread(besideAs('inspect-thread', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX },
    })
    this.#worker.on('message', (answer: InspectAnswer) => this.#waiting?.resolve(answer))
    this.#worker.on('error', (error) => this.#waiting?.reject(isOutOfMemory(error) ? tooMuchMemory() : error))
    this.#worker.on('exit', () => {
      idle.delete(this)
      this.#waiting?.reject(tooMuchMemory())
    })
  }

  /** One at a time. Afterwards the thread is idle, or has ended. */
  async ask(request: InspectRequest): Promise<InspectAnswer> {
    idle.delete(this)
    clearTimeout(this.#idleTimer)
    this.#worker.ref()
    let timer: NodeJS.Timeout | undefined
    try {
      const answer = await new Promise<InspectAnswer>((resolve, reject) => {
        this.#waiting = { resolve, reject }
        timer = setTimeout(() => reject(new PackageError('Reading the package takes too long.')), TIME_MS_MAX)
        this.#worker.postMessage(request, [])
      })
      idle.add(this)
      this.#worker.unref() // an idle thread keeps no process alive
      this.#idleTimer = setTimeout(() => void this.#worker.terminate(), IDLE_MS_MAX).unref()
      return answer
    } catch (error) {
      await this.#worker.terminate()
      throw error
    } finally {
      clearTimeout(timer)
      this.#waiting = null
    }
  }
}

const tooMuchMemory = () => new PackageError('Reading the package takes too much memory.')

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'

import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { StopSignal } from './concurrency/stop-signal.ts'
import { Waiter } from './concurrency/waiter.ts'

export interface Loop {
  name: string
  everyMs: number
  /** One bounded pass; resolves to whether more is waiting. Exported so that tests need no timer. */
  runOnce(signal: AbortSignal): Promise<boolean>
  /** Starts the next pass early when there is work. */
  wake?: Wake
  /** SQL: whether a pass would find something to do. Asked together with those of other loops (due-check.ts), from an index. */
  isDue?: string
}

const FAILED_PASS_PAUSE_MS = 1000
const LONG_PAUSE_MS = 1000
/** Long pauses end on multiples of this time, so that an idle process wakes once for many loops. */
export const PAUSE_GRID_MS = 250

/** Resolves once `signal` has aborted and the pass in flight has ended. A failed pass is logged and tried again. */
export async function runLoop(loop: Loop, signal: AbortSignal, log: (error: unknown) => void): Promise<void> {
  while (!signal.aborted) {
    let more = false
    let pauseMs = loop.everyMs
    try {
      more = await loop.runOnce(signal)
    } catch (error) {
      if (!signal.aborted) log(error)
      pauseMs = Math.max(pauseMs, FAILED_PASS_PAUSE_MS)
    }
    if (more) continue
    const restMs = onGrid(pauseMs, performance.now())
    await (loop.wake === undefined
      ? sleep(restMs, undefined, { signal }).catch(() => {})
      : loop.wake.wait(restMs, signal))
  }
}

/** The pause, or a little less if it is long. */
export const onGrid = (pauseMs: number, now: number): number =>
  pauseMs < LONG_PAUSE_MS ? pauseMs : Math.floor((now + pauseMs) / PAUSE_GRID_MS) * PAUSE_GRID_MS - now

export interface RunningLoops {
  /** Resolves when the passes in flight have ended. */
  stop(): Promise<void>
}

export function startLoops(loops: readonly Loop[], log: Logger): RunningLoops {
  const stopping = new AbortController()
  setMaxListeners(0, stopping.signal) // every loop listens
  const running = loops.map((loop) =>
    runLoop(loop, stopping.signal, (error) => log.error({ err: error, loop: loop.name }, 'loop failed')),
  )
  return {
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

/** A bell: `ring` ends the current wait, or, if nobody waits, the next one. */
export class Wake {
  #isRung = false
  #waiter: Waiter<void> | null = null
  #waitsUntil: StopSignal | undefined
  readonly #heard = new WeakSet<StopSignal>()

  ring(): void {
    if (this.#waiter === null) this.#isRung = true
    else this.#waiter.resolve()
  }

  /** Resolves at the ring, after `ms`, or when `signal` aborts. One waiter at a time. */
  async wait(ms: number, signal?: StopSignal): Promise<void> {
    if (!this.#isRung && signal?.aborted !== true) {
      if (signal !== undefined) this.#hear(signal)
      this.#waitsUntil = signal
      this.#waiter = new Waiter({ timeoutMs: ms, onTimeout: () => {}, onLeave: () => (this.#waiter = null) })
      await this.#waiter.answer
    }
    this.#isRung = false
  }

  /** Once for each signal: to listen for one wait, and to stop listening, takes longer than the rest of a wait. */
  #hear(signal: StopSignal): void {
    if (this.#heard.has(signal)) return
    this.#heard.add(signal)
    const stop = () => {
      if (this.#waitsUntil === signal) this.#waiter?.resolve()
    }
    signal.addEventListener('abort', stop, { once: true })
  }
}

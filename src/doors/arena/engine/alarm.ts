import { Timed, type Wheel } from './wheel.ts'

export const ALARM_STEP_MS = 50

/**
 * Rings at given times, once for all that fall into the same step: a client that joins and cancels in a loop sets no more
 * alarms than there are steps in the longest wait.
 */
export class Alarm {
  readonly #wheel: Wheel
  readonly #ring: () => void
  readonly #set = new Set<number>()

  constructor(wheel: Wheel, ring: () => void) {
    this.#wheel = wheel
    this.#ring = ring
  }

  /** Rings at that time or up to one step later. */
  setFor(atMs: number): void {
    const step = Math.ceil(atMs / ALARM_STEP_MS)
    if (this.#set.has(step)) return
    this.#set.add(step)
    const onTime = () => {
      this.#set.delete(step)
      this.#ring()
    }
    this.#wheel.addAt(new Ringing(onTime), step * ALARM_STEP_MS)
  }
}

class Ringing extends Timed {
  readonly #onTime: () => void

  constructor(onTime: () => void) {
    super()
    this.#onTime = onTime
  }

  override run(): void {
    this.#onTime()
  }
}

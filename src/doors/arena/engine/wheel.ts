// A timing wheel with slots of 5 ms: one timer for the ticks of all sessions, pings and messages to other nodes. Sessions are
// spread over the slots, so that the work of a tick interval comes in small portions. (Measured on one core: all sessions
// at the same time 750, one timer per session 2,250, spread over a wheel 3,000 sessions.) Few sessions share a slot, and pings
// share one with each other: a process that wakes for each of them finds its caches cold every time.

export const SLOT_MS = 5
const SLOTS = 4096 // 20 s; a task that is due later goes round again
const TOGETHER_MAX = 100 // sessions that tick in the same slot while other slots have fewer: some 2 ms of work
const LOOSE_SLOTS = 20 // 100 ms
const LOOK_AHEAD = 100 // slots: an idle wheel turns twice a second

export abstract class Timed {
  /** The slot in which it is due, counted from time 0. Set by the wheel. */
  slot = 0
  /** `now` is the time at which the wheel reached it, later than its slot if the process was busy. */
  abstract run(now: number): void
}

export interface WheelOptions {
  /** Monotonic, in milliseconds. */
  now?: () => number
  /** Called after a slot with tasks, with its delay. */
  onSlot?: (lateMs: number, tasks: number) => void
}

export class Wheel {
  readonly #slots: Timed[][] = Array.from({ length: SLOTS }, () => [])
  readonly #now: () => number
  readonly #onSlot: ((lateMs: number, tasks: number) => void) | undefined
  #position: number
  #size = 0
  #timer: NodeJS.Timeout | null = null
  #armedFor = Infinity
  #turning = false
  #stopped = false

  constructor({ now = () => performance.now(), onSlot }: WheelOptions = {}) {
    this.#now = now
    this.#onSlot = onSlot
    this.#position = Math.floor(now() / SLOT_MS)
  }

  get size(): number {
    return this.#size
  }

  now(): number {
    return this.#now()
  }

  /** In the slot of that time, or in the next one if it has passed. */
  addAt(task: Timed, atMs: number): void {
    this.addToSlot(task, slotAt(atMs))
  }

  addToSlot(task: Timed, slot: number): void {
    if (this.#size === 0 && !this.#turning) this.#position = Math.floor(this.#now() / SLOT_MS) // the wheel was idle
    task.slot = Math.max(slot, this.#position + 1)
    this.#put(task)
    this.#size += 1
    if (task.slot < this.#armedFor) this.#arm(task.slot)
  }

  /** At that time or up to 100 ms later, together with other tasks that need no exact time. */
  addLoosely(task: Timed, atMs: number): void {
    this.addToSlot(task, Math.ceil(slotAt(atMs) / LOOSE_SLOTS) * LOOSE_SLOTS)
  }

  /**
   * The time of a slot within `spanMs` from `fromMs`, for a task that repeats every `spanMs`: the one with most tasks below
   * TOGETHER_MAX, or, if none is below, the one with the fewest.
   */
  sharedMoment(fromMs: number, spanMs: number): number {
    const span = Math.max(1, Math.floor(spanMs / SLOT_MS))
    const first = slotAt(fromMs)
    let best = first
    let most = -Infinity
    for (let slot = first; slot < first + span; slot += 1) {
      const load = this.#load(slot) + this.#load(slot - span) // tasks that repeat, and tasks that were just added
      const rank = load < TOGETHER_MAX ? load : -load
      if (rank <= most) continue
      best = slot
      most = rank
    }
    return best * SLOT_MS
  }

  /** Runs everything that is due. Public so that tests need no timer. */
  turn(): void {
    this.#turning = true
    const until = Math.floor(this.#now() / SLOT_MS) // read once: a wheel that chases the clock would never yield
    while (this.#position < until) {
      this.#position += 1
      this.#runSlot(this.#position)
    }
    this.#turning = false
    this.#armedFor = Infinity
    if (this.#size > 0) this.#arm(this.#nextBusySlot())
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #runSlot(slot: number): void {
    const due = this.#slots[slot % SLOTS]
    if (due === undefined || due.length === 0) return
    this.#slots[slot % SLOTS] = []
    const now = this.#now()
    let done = 0
    for (const task of due) {
      if (task.slot > slot) {
        this.#put(task)
        continue
      }
      this.#size -= 1
      done += 1
      task.run(now)
    }
    if (done > 0) this.#onSlot?.(this.#now() - slot * SLOT_MS, done)
  }

  #put(task: Timed): void {
    const turn = Math.min(task.slot, this.#position + SLOTS - 1)
    this.#slots[turn % SLOTS]?.push(task)
  }

  #load(slot: number): number {
    return this.#slots[slot % SLOTS]?.length ?? 0
  }

  #nextBusySlot(): number {
    const last = this.#position + LOOK_AHEAD
    let slot = this.#position + 1
    while (slot < last && this.#slots[slot % SLOTS]?.length === 0) slot += 1
    return slot
  }

  #arm(slot: number): void {
    if (this.#stopped) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#armedFor = slot
    this.#timer = setTimeout(() => this.turn(), Math.max(1, slot * SLOT_MS - this.#now()))
  }
}

/** The first slot that begins at or after this time: nothing runs early. */
const slotAt = (ms: number): number => Math.ceil(ms / SLOT_MS)

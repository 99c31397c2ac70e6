// Waiting for a change that the database will show. A hint on the bus says that a subject may have changed; the database
// decides. Hints may be lost, so a loop checks every subject again every few seconds.
import type { Loop } from '../loop.ts'
import { Waiter, type WaitLimits } from '../concurrency/waiter.ts'
import type { Bus } from './bus.ts'

const CHECK_EVERY_MS = 2000
const CHECKED_AT_ONCE_MAX = 5000
const WAITING_MAX = 100_000
const RECENT_MAX = 10_000

export interface FreshWaitLimits extends WaitLimits {
  /** The subject was made a moment ago: it is read first only where a hint has named it since. */
  isFresh?: boolean
}

export interface HintedWaits<Subject, Value> {
  /** The subject's value once it is final, or as it is when the time is up. */
  wait(subject: Subject, limits: FreshWaitLimits): Promise<Value>
  loop: Loop
  close(): void
}

interface HintedWaitsOptions<Subject, Value> {
  bus: Pick<Bus, 'subscribe'>
  channel: string
  /** The names of the subjects that a message on the channel announces. */
  namesIn(message: string): readonly string[]
  nameOf(subject: Subject): string
  read(subject: Subject): Promise<Value>
  isFinal(value: Value): boolean
  /** Of many names, those worth reading again. Default: all. */
  changedOf?: (names: string[]) => Promise<readonly string[]>
}

interface Watched<Subject, Value> {
  subject: Subject
  waiters: Set<Waiter<Value>>
}

export function openHintedWaits<Subject, Value>(
  options: HintedWaitsOptions<Subject, Value>,
): HintedWaits<Subject, Value> {
  const { bus, channel, namesIn, nameOf, read, isFinal, changedOf } = options
  const watched = new Map<string, Watched<Subject, Value>>()
  const recent = new RecentNames(RECENT_MAX)

  /** One read answers all who wait for the same subject. */
  const check = (subject: Subject, waiters: readonly Waiter<Value>[]) => {
    read(subject).then(
      (value) => isFinal(value) && waiters.forEach((waiter) => waiter.resolve(value)),
      (error: unknown) => waiters.forEach((waiter) => waiter.reject(error)),
    )
  }
  const checkNamed = (names: Iterable<string>) => {
    for (const name of names) {
      const found = watched.get(name)
      if (found !== undefined) check(found.subject, [...found.waiters])
    }
  }
  const checkAll = async () => {
    const names = [...watched.keys()]
    for (let start = 0; start < names.length; start += CHECKED_AT_ONCE_MAX) {
      const some = names.slice(start, start + CHECKED_AT_ONCE_MAX)
      checkNamed(changedOf === undefined ? some : await changedOf(some))
    }
  }
  const unsubscribe = bus.subscribe(
    channel,
    (message) => {
      const names = namesIn(message)
      recent.add(names)
      checkNamed(names)
    },
    () => void checkAll().catch(() => {}), // the loop repeats it, and logs what is wrong
  )

  return {
    async wait(subject, limits) {
      const name = nameOf(subject)
      if (watched.size >= WAITING_MAX || limits.signal?.aborted === true) return read(subject)
      const entry = watched.get(name) ?? { subject, waiters: new Set() }
      const waiter = new Waiter<Value>({
        ...limits,
        onTimeout: () => read(subject),
        onLeave() {
          entry.waiters.delete(waiter)
          if (entry.waiters.size === 0 && watched.get(name) === entry) watched.delete(name)
        },
      })
      entry.waiters.add(waiter)
      watched.set(name, entry)
      // It may have changed before anyone listened.
      if (limits.isFresh !== true || recent.has(name)) check(subject, [waiter])
      return waiter.answer
    },
    loop: {
      name: `check-waits ${channel}`,
      everyMs: CHECK_EVERY_MS,
      runOnce: async () => {
        await checkAll()
        return false
      },
    },
    close: unsubscribe,
  }
}

/** The last names that hints had, so many of them. */
class RecentNames {
  readonly #most: number
  #newer = new Set<string>()
  #older = new Set<string>()

  constructor(most: number) {
    this.#most = most
  }

  add(names: readonly string[]): void {
    for (const name of names) this.#newer.add(name)
    if (this.#newer.size < this.#most) return
    this.#older = this.#newer
    this.#newer = new Set()
  }

  has(name: string): boolean {
    return this.#newer.has(name) || this.#older.has(name)
  }
}

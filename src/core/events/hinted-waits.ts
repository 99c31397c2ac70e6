// Waiting for a change that the database will show. A hint on the bus says that a subject may have changed; the database
// decides. Hints may be lost, so a loop checks every subject again every few seconds.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Loop } from '../loop.ts'
import { Waiter, type WaitLimits } from '../concurrency/waiter.ts'
import type { Bus } from './bus.ts'

const CHECK_EVERY_MS = 2000
const CHECKED_AT_ONCE_MAX = 5000
const WAITING_MAX = 100_000
const TOLD_AT_ONCE_MAX = 50 // each of them then writes an HTTP answer, in the same turn of the event loop
const RECENT_CHARS_MAX = 400_000 // some 10,000 ids of jobs

export interface FreshWaitLimits extends WaitLimits {
  /** The subject was made or read a moment ago: it is read first only where a hint has named it since. */
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
  const recent = new RecentNames(RECENT_CHARS_MAX, namesIn)

  /** One read answers all who wait for the same subject. */
  const check = (subject: Subject, waiters: readonly Waiter<Value>[]) => {
    read(subject).then(
      (value) => (isFinal(value) ? tellAll(waiters, (waiter) => waiter.resolve(value)) : undefined),
      (error: unknown) => tellAll(waiters, (waiter) => waiter.reject(error)),
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
  let unsubscribe: (() => void) | null = null
  const subscribe = () =>
    bus.subscribe(
      channel,
      (message) => {
        recent.add(message)
        if (watched.size > 0) checkNamed(namesIn(message))
      },
      () => void checkAll().catch(() => {}), // the loop repeats it, and logs what is wrong
    )

  return {
    async wait(subject, limits) {
      const name = nameOf(subject)
      if (watched.size >= WAITING_MAX || limits.signal?.aborted === true) return read(subject)
      const entry = watched.get(name) ?? { subject, waiters: new Set() }
      const waiter = new Waiter<Value>({
        onTimeout: () => read(subject),
        onLeave() {
          entry.waiters.delete(waiter)
          if (entry.waiters.size === 0 && watched.get(name) === entry) watched.delete(name)
        },
        ...limits,
      })
      entry.waiters.add(waiter)
      watched.set(name, entry)
      unsubscribe ??= subscribe() // not earlier: a process in which nobody waits is not told of every job that ends
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
    close: () => unsubscribe?.(),
  }
}

/** In several turns of the event loop where they are many: others have their turn in between. */
async function tellAll<Value>(waiters: readonly Waiter<Value>[], tell: (waiter: Waiter<Value>) => void): Promise<void> {
  for (let start = 0; start < waiters.length; start += TOLD_AT_ONCE_MAX) {
    if (start > 0) await nextTurn()
    waiters.slice(start, start + TOLD_AT_ONCE_MAX).forEach(tell)
  }
}

/**
 * The names in the last hints, up to twice so many characters of them. A message is taken apart when somebody asks: most processes hear
 * of every job and wait for few.
 */
class RecentNames {
  readonly #charsMax: number
  readonly #namesIn: (message: string) => readonly string[]
  #messages: string[] = []
  #chars = 0
  #newer = new Set<string>()
  #older = new Set<string>()
  #olderMessages: string[] = []

  constructor(charsMax: number, namesIn: (message: string) => readonly string[]) {
    this.#charsMax = charsMax
    this.#namesIn = namesIn
  }

  add(message: string): void {
    this.#messages.push(message)
    this.#chars += message.length
    if (this.#chars < this.#charsMax) return
    this.#older = this.#newer
    this.#olderMessages = this.#messages
    this.#newer = new Set()
    this.#messages = []
    this.#chars = 0
  }

  has(name: string): boolean {
    takeApart(this.#messages, this.#newer, this.#namesIn)
    takeApart(this.#olderMessages, this.#older, this.#namesIn)
    return this.#newer.has(name) || this.#older.has(name)
  }
}

function takeApart(messages: string[], into: Set<string>, namesIn: (message: string) => readonly string[]): void {
  for (const message of messages.splice(0)) for (const name of namesIn(message)) into.add(name)
}

import type { Event } from './events.ts'

/** The next event waits until the listener is done with this one. */
export type EventListener = (event: Event) => void | Promise<void>

const PAGE = 200

/** Reads the log from its position whenever it is hinted. One read at a time; a hint during a read causes another. */
export class Subscription {
  readonly #channel: string
  readonly #read: (channel: string, since: number, limit: number) => Promise<Event[]>
  readonly #listener: EventListener
  readonly #log: (error: unknown) => void
  #unsubscribe: () => void = () => {}
  #seen: number | null = null
  #looking = false
  #lookAgain = false
  #closed = false

  constructor(
    channel: string,
    read: (channel: string, since: number, limit: number) => Promise<Event[]>,
    listener: EventListener,
    log: (error: unknown) => void,
  ) {
    this.#channel = channel
    this.#read = read
    this.#listener = listener
    this.#log = log
  }

  onClose(unsubscribe: () => void): void {
    this.#unsubscribe = unsubscribe
  }

  begin(since: number): void {
    this.#seen = since
    this.look()
  }

  look(): void {
    this.#lookAgain = true
    if (!this.#looking && this.#seen !== null) void this.#run(this.#seen)
  }

  close(): void {
    this.#closed = true
    this.#unsubscribe()
  }

  async #run(from: number): Promise<void> {
    this.#looking = true
    let seen = from
    try {
      while (this.#lookAgain && !this.#closed) {
        this.#lookAgain = false
        const page = await this.#read(this.#channel, seen, PAGE)
        for (const event of page) {
          if (this.#closed) return
          seen = event.id
          this.#seen = seen
          await this.#listener(event)
        }
        if (page.length === PAGE) this.#lookAgain = true
      }
    } catch (error) {
      this.#log(error) // the next hint reads again from the same place
    } finally {
      this.#looking = false
    }
  }
}

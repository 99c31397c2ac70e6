// Mail between nodes: lines of text on the bus. What is posted within one slot of the wheel goes out together, so that a
// slot costs one publish for each node however many sessions had something to say. (Measured: a third of the CPU of one
// publish per message.) The bus may lose mail: whatever must not be lost is in the database, and is looked up there when
// nothing is heard.
import type { Bus } from '../../../core/events/bus.ts'
import { Timed, type Wheel } from '../engine/wheel.ts'

const EVERYONE = 'arena:all'
const channelOf = (node: string): string => `arena:node:${node}`

const MESSAGE_BYTES_MAX = 7500 // NOTIFY takes 8,000
const LINES_WAITING_MAX = 50_000

export type OnLine = (line: string) => void

export class Mail extends Timed {
  readonly #bus: Bus
  readonly #wheel: Wheel
  readonly #boxes = new Map<string, string[]>()
  readonly #unsubscribe: (() => void)[]
  #waiting = 0
  #number = 0

  constructor(bus: Bus, wheel: Wheel, node: string, onLine: OnLine) {
    super()
    this.#bus = bus
    this.#wheel = wheel
    const read = (message: string) => {
      const [, ...lines] = message.split('\n')
      for (const line of lines) onLine(line)
    }
    this.#unsubscribe = [channelOf(node), EVERYONE].map((channel) => bus.subscribe(channel, read))
  }

  post(node: string, line: string): void {
    this.#put(channelOf(node), line)
  }

  /** This node hears it as well. */
  postToAll(line: string): void {
    this.#put(EVERYONE, line)
  }

  override run(): void {
    for (const [channel, lines] of this.#boxes) {
      for (const message of messagesOf(lines)) {
        this.#number += 1 // the bus takes two equal messages for one
        this.#bus.publish(channel, `${this.#number}\n${message}`)
      }
    }
    this.#boxes.clear()
    this.#waiting = 0
  }

  close(): void {
    this.run()
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }

  #put(channel: string, line: string): void {
    if (this.#waiting >= LINES_WAITING_MAX) return
    if (this.#waiting === 0) this.#wheel.addAt(this, this.#wheel.now())
    this.#waiting += 1
    const box = this.#boxes.get(channel)
    if (box === undefined) this.#boxes.set(channel, [line])
    else box.push(line)
  }
}

function messagesOf(lines: readonly string[]): string[] {
  const messages: string[] = []
  let bytes = MESSAGE_BYTES_MAX
  for (const line of lines) {
    const size = Buffer.byteLength(line) + 1
    bytes += size
    if (bytes > MESSAGE_BYTES_MAX) {
      messages.push(line)
      bytes = size
    } else {
      messages.push(`${messages.pop()}\n${line}`)
    }
  }
  return messages
}

// Sends and receives messages between nodes over the bus. Everything sent within one slot of the timing wheel goes out as
// one publish per node, however many sessions produced it. (Measured: a third of the CPU of one publish per message.) The
// bus may lose messages: what must not be lost is in the database, and a node that hears nothing looks it up there.
import type { Bus } from '../../../core/events/bus.ts'
import { Timed, type Wheel } from '../engine/wheel.ts'
import { decodeMessage, encodeMessage, type NodeMessage } from './messages.ts'

const ALL_NODES = 'arena:all'
const channelOf = (node: string): string => `arena:node:${node}`

const PUBLISH_BYTES_MAX = 7500 // NOTIFY takes 8,000
const QUEUED_MAX = 50_000

export class NodeMessages extends Timed {
  readonly #bus: Bus
  readonly #wheel: Wheel
  /** Encoded messages by channel, until the next slot. */
  readonly #queues = new Map<string, string[]>()
  readonly #unsubscribe: (() => void)[]
  #onMessage: (message: NodeMessage) => void = () => {}
  #queued = 0
  #publishes = 0

  constructor(bus: Bus, wheel: Wheel, node: string) {
    super()
    this.#bus = bus
    this.#wheel = wheel
    const receive = (published: string) => {
      const [, ...lines] = published.split('\n')
      for (const line of lines) {
        const message = decodeMessage(line)
        if (message !== null) this.#onMessage(message)
      }
    }
    this.#unsubscribe = [channelOf(node), ALL_NODES].map((channel) => bus.subscribe(channel, receive))
  }

  /** Messages that arrive before this call are dropped. */
  onMessage(listener: (message: NodeMessage) => void): void {
    this.#onMessage = listener
  }

  send(node: string, message: NodeMessage): void {
    this.#enqueue(channelOf(node), message)
  }

  /** Also delivered to this node. */
  sendToAll(message: NodeMessage): void {
    this.#enqueue(ALL_NODES, message)
  }

  override run(): void {
    for (const [channel, lines] of this.#queues) {
      for (const batch of batchesOf(lines)) {
        this.#publishes += 1 // the bus drops a message that equals the previous one
        this.#bus.publish(channel, `${this.#publishes}\n${batch}`)
      }
    }
    this.#queues.clear()
    this.#queued = 0
  }

  close(): void {
    this.run()
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }

  #enqueue(channel: string, message: NodeMessage): void {
    if (this.#queued >= QUEUED_MAX) return
    if (this.#queued === 0) this.#wheel.addAt(this, this.#wheel.now())
    this.#queued += 1
    const line = encodeMessage(message)
    const queue = this.#queues.get(channel)
    if (queue === undefined) this.#queues.set(channel, [line])
    else queue.push(line)
  }
}

function batchesOf(lines: readonly string[]): string[] {
  const batches: string[] = []
  let bytes = PUBLISH_BYTES_MAX
  for (const line of lines) {
    const size = Buffer.byteLength(line) + 1
    bytes += size
    if (bytes > PUBLISH_BYTES_MAX) {
      batches.push(line)
      bytes = size
    } else {
      batches.push(`${batches.pop()}\n${line}`)
    }
  }
  return batches
}

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Bus, Listener } from '../../src/core/events/bus.ts'
import { decodeMessage, encodeMessage, type NodeMessage } from '../../src/doors/arena/cluster/messages.ts'
import { NodeMessages } from '../../src/doors/arena/cluster/node-messages.ts'
import { SLOT_MS, Wheel } from '../../src/doors/arena/engine/wheel.ts'

/** A wheel that turns when it is told to, and a bus that remembers. */
function setup(t: TestContext) {
  let time = 1000
  const wheel = new Wheel({ now: () => time })
  t.after(() => wheel.stop())
  const published: { channel: string; message: string }[] = []
  const listeners = new Map<string, Listener>()
  const bus: Bus = {
    publish(channel, message) {
      published.push({ channel, message })
      listeners.get(channel)?.(message)
    },
    subscribe(channel, listener) {
      listeners.set(channel, listener)
      return () => listeners.delete(channel)
    },
    close: async () => {},
  }
  const nextSlot = () => {
    time += 2 * SLOT_MS
    wheel.turn()
  }
  return { bus, wheel, published, nextSlot }
}

const SESSION = '01a1e1c4-f6c7-70b5-9a08-3c39fa5206f3'
const event = (text: string): NodeMessage => ({ type: 'event', sessionId: SESSION, text })

function receiver(bus: Bus, wheel: Wheel, node: string) {
  const messages = new NodeMessages(bus, wheel, node)
  const received: NodeMessage[] = []
  messages.onMessage((message) => received.push(message))
  return { messages, received }
}

test('messages sent within one slot are one publish per node, in the order in which they were sent', (t) => {
  const { bus, wheel, published, nextSlot } = setup(t)
  const { messages, received } = receiver(bus, wheel, 'a')
  const other = receiver(bus, wheel, 'b')

  for (let n = 0; n < 50; n += 1) {
    messages.send('a', event(String(n)))
    messages.send('b', event(String(n)))
  }
  nextSlot()
  messages.send('a', event('50'))
  nextSlot()
  other.messages.close()

  assert.deepEqual(
    published.map(({ channel }) => channel),
    ['arena:node:a', 'arena:node:b', 'arena:node:a'],
  )
  assert.deepEqual(
    received,
    Array.from({ length: 51 }, (_, n) => event(String(n))),
  )
})

test('no publish is larger than the bus accepts, and no message is lost because of that', (t) => {
  const { bus, wheel, published, nextSlot } = setup(t)
  const { messages, received } = receiver(bus, wheel, 'a')
  const sent = Array.from({ length: 300 }, (_, n) => event(`${n} ${'가'.repeat(n)}`))

  for (const message of sent) messages.send('a', message)
  nextSlot()

  assert.deepEqual(received, sent)
  for (const { message } of published) assert(Buffer.byteLength(message) < 8000)
})

test('every type of message decodes to what was encoded', () => {
  const sessionId = SESSION
  const messages: NodeMessage[] = [
    { type: 'start', matchId: SESSION },
    { type: 'hello', sessionId, node: 'a1', userIds: [7, 8], greetings: ['{"a": "b c"}', '가'] },
    { type: 'hello', sessionId, node: 'a1', userIds: [7], greetings: [] },
    { type: 'attach', sessionId, node: 'a1', userId: 7 },
    { type: 'attach', sessionId, node: 'a1', userId: null },
    { type: 'detach', sessionId, node: 'a1' },
    event('a text with spaces'),
    { type: 'over', sessionId, userIds: [7, 8], text: 'a text' },
    { type: 'unknown', sessionId },
    { type: 'input', sessionId, node: 'a1', clientId: 1, userId: 7, seq: 3, sequence: 4, targetTick: 5, delta: -3 },
    { type: 'refuse', clientId: 1, seq: 3, code: 'input_invalid' },
    { type: 'timeout', userIds: [7, 8] },
    { type: 'rematch', sessionId, userId: 7, opponentId: 8 },
    { type: 'released' },
  ]

  assert.deepEqual(
    messages.map((message) => decodeMessage(encodeMessage(message))),
    messages,
  )
})

test('a line of another version is ignored', () => {
  for (const line of ['', 'teleport x', 'toString', 'refuse 1 2 no_such_code']) assert.equal(decodeMessage(line), null)
})

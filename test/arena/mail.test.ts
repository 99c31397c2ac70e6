import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Bus, Listener } from '../../src/core/events/bus.ts'
import { Mail } from '../../src/doors/arena/cluster/mail.ts'
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

test('what is posted within one slot is one publish for each node, in the order in which it was posted', (t) => {
  const { bus, wheel, published, nextSlot } = setup(t)
  const heard: string[] = []
  const mail = new Mail(bus, wheel, 'a', (line) => heard.push(line))
  const others = new Mail(bus, wheel, 'b', () => {})

  for (let n = 0; n < 50; n += 1) {
    mail.post('a', `event ${n}`)
    mail.post('b', `event ${n}`)
  }
  nextSlot()
  mail.post('a', 'event 50')
  nextSlot()
  others.close()

  assert.deepEqual(
    published.map(({ channel }) => channel),
    ['arena:node:a', 'arena:node:b', 'arena:node:a'],
  )
  assert.deepEqual(
    heard,
    Array.from({ length: 51 }, (_, n) => `event ${n}`),
  )
})

test('no message is larger than the bus takes, and none is lost because of that', (t) => {
  const { bus, wheel, published, nextSlot } = setup(t)
  const heard: string[] = []
  const mail = new Mail(bus, wheel, 'a', (line) => heard.push(line))
  const lines = Array.from({ length: 300 }, (_, n) => `event ${n} ${'가'.repeat(n)}`)

  for (const line of lines) mail.post('a', line)
  nextSlot()

  assert.deepEqual(heard, lines)
  for (const { message } of published) assert(Buffer.byteLength(message) < 8000)
})

// Clients of the SDK that are closed at a bad moment must stay closed: a program that has closed them ends.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LiveClient } from '@reeve/sdk'
import { ArenaClient } from '@reeve/sdk/arena'

type Listener = (event: { data: string; code: number; reason: string }) => void

/** A connection whose events the test brings about. */
class FakeSocket {
  static opened: FakeSocket[] = []
  readonly #listeners: [type: string, listener: Listener][] = []
  isClosed = false

  constructor() {
    FakeSocket.opened.push(this)
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.push([type, listener])
  }

  emit(type: string, event: Partial<Parameters<Listener>[0]> = {}): void {
    for (const [of, listener] of this.#listeners)
      if (of === type) listener({ data: '', code: 1000, reason: '', ...event })
  }

  send(): void {}

  close(): void {
    this.isClosed = true
  }
}

const connection = (): FakeSocket => {
  const [socket, ...others] = FakeSocket.opened.splice(0)
  assert(socket !== undefined && others.length === 0)
  return socket
}

test('a live client that is closed stays closed, whatever still arrives', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const live = new LiveClient({ url: 'http://reeve.test', WebSocket: FakeSocket })
  live.open()
  const socket = connection()
  socket.emit('message', { data: '{}' })

  live.close()
  socket.emit('message', { data: '{}' })
  socket.emit('close')
  t.mock.timers.tick(60_000)

  assert.deepEqual([live.state, socket.isClosed, FakeSocket.opened.length], ['ended', true, 0])
})

test('an arena client that is closed while it connects closes that connection', async () => {
  const client = new ArenaClient({ url: 'http://reeve.test', token: 'token', WebSocket: FakeSocket })
  const connecting = client.connect()
  const socket = connection()

  client.close()
  socket.emit('close')

  assert.equal(socket.isClosed, true)
  await assert.rejects(connecting)
})

// LISTEN and NOTIFY as the bus. Subscribers in this process hear a message when it is published; other processes hear it
// through the database (postgres-listener.ts, notify-sender.ts).
import assert from 'node:assert/strict'
import type { Database } from '../db/database.ts'
import { newJobId } from '../random.ts'
import { LocalSubscriptions, type Bus } from './bus.ts'
import { openSender } from './notify-sender.ts'
import { openPostgresListener } from './postgres-listener.ts'

const CHANNEL_BYTES_MAX = 63

export async function openPostgresBus(database: Database, log: (error: unknown) => void): Promise<Bus> {
  const closing = new AbortController()
  const local = new LocalSubscriptions()
  const sender = openSender(database, closing.signal, log)
  const origin = newJobId()
  const listener = await openPostgresListener(database, {
    onNotification(channel, payload) {
      if (!payload.startsWith(origin)) local.deliver(channel, payload.slice(payload.indexOf('\n') + 1))
    },
    onReconnected: () => local.gap(),
    log,
  })

  return {
    publish(channel, message) {
      local.deliver(channel, message)
      sender.send(channel, `${origin}\n${message}`)
    },
    within(channel, message) {
      if (!sender.reserve()) return null
      return { channel, message: `${origin}\n${message}`, said: () => local.deliver(channel, message) }
    },
    subscribe(channel, onMessage, onGap = () => {}) {
      assert(Buffer.byteLength(channel) <= CHANNEL_BYTES_MAX)
      const subscription = { listener: onMessage, onGap }
      if (local.add(channel, subscription)) {
        // Messages from before the server listened are a gap.
        void listener.listen(channel).then(() => closing.signal.aborted || local.gap([channel]))
      }
      return () => {
        if (local.remove(channel, subscription)) void listener.unlisten(channel)
      }
    },
    async close() {
      closing.abort()
      await sender.close()
      await listener.close()
    },
  }
}

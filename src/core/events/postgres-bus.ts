// LISTEN on a connection of its own, which is made again whenever it breaks; what is said goes out by notify-sender.ts.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Database } from '../db/database.ts'
import { newJobId } from '../random.ts'
import { LocalSubscriptions, type Bus } from './bus.ts'
import { openSender } from './notify-sender.ts'

const RECONNECT_MS = 500
const CHANNEL_BYTES_MAX = 63

export async function openPostgresBus(database: Database, log: (error: unknown) => void): Promise<Bus> {
  const closing = new AbortController()
  const local = new LocalSubscriptions()
  const sender = openSender(database, closing.signal, log)
  const origin = newJobId()
  let client: Client | null = await connect()

  async function connect(): Promise<Client> {
    const fresh = await database.connect()
    hear(fresh, origin, local)
    fresh.once('end', () => {
      client = null
      if (!closing.signal.aborted) reconnecting = reconnect()
    })
    return fresh
  }

  let reconnecting: Promise<void> = Promise.resolve()

  async function reconnect(): Promise<void> {
    while (client === null && !closing.signal.aborted) {
      await sleep(RECONNECT_MS, undefined, { signal: closing.signal }).catch(() => {})
      if (closing.signal.aborted) return
      try {
        client = await connect()
        for (const channel of local.channels()) await client.query(`listen ${quoted(channel)}`)
        local.gap()
      } catch (error) {
        log(error)
      }
    }
  }

  let said: Promise<unknown> = Promise.resolve() // one statement at a time on the connection

  const listen = (verb: 'listen' | 'unlisten', channel: string) => {
    assert(Buffer.byteLength(channel) <= CHANNEL_BYTES_MAX)
    said = said.then(() => client?.query(`${verb} ${quoted(channel)}`)).catch(log) // a new connection listens to all again
  }

  return {
    publish(channel, message) {
      local.deliver(channel, message)
      sender.send(channel, `${origin}\n${message}`)
    },
    within(channel, message) {
      if (!sender.reserve()) return null
      return { channel, message: `${origin}\n${message}`, said: () => local.deliver(channel, message) }
    },
    subscribe(channel, listener, onGap = () => {}) {
      const subscription = { listener, onGap }
      if (local.add(channel, subscription)) {
        listen('listen', channel)
        void said.then(() => closing.signal.aborted || local.gap([channel])) // for what was said before the server listened
      }
      return () => {
        if (local.remove(channel, subscription)) listen('unlisten', channel)
      }
    },
    async close() {
      closing.abort()
      await sender.close()
      await reconnecting
      await said
      await client?.end()
    },
  }
}

const quoted = (channel: string): string => `"${channel.replaceAll('"', '""')}"`

/** What came from here was delivered when it was published. */
function hear(client: Client, origin: string, local: LocalSubscriptions): void {
  client.on('notification', ({ channel, payload = '' }) => {
    const [from, ...rest] = payload.split('\n')
    if (from !== origin) local.deliver(channel, rest.join('\n'))
  })
}

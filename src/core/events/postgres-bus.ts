// NOTIFY inside a committing transaction makes all commits wait for each other (measured: a third of the throughput at 50
// connections). So nothing is notified inside one: the first message goes out at once on a connection of its own, and those
// that follow gather for a few milliseconds and go together.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Database } from '../database.ts'
import { newJobId } from '../random.ts'
import { LocalSubscriptions, type Bus } from './bus.ts'

const NOTIFY = `select pg_notify(channel, message) from json_to_recordset($1) as r (channel text, message text)`

const GATHER_MS = 5
const RECONNECT_MS = 500
const MESSAGE_BYTES_MAX = 7_900 // PostgreSQL takes less than 8,000
const CHANNEL_BYTES_MAX = 63
const WAITING_MAX = 10_000

export async function openPostgresBus(database: Database, log: (error: unknown) => void): Promise<Bus> {
  const closing = new AbortController()
  const local = new LocalSubscriptions()
  const sender = gatheringSender(database, closing.signal, log)
  const origin = newJobId()
  let client: Client | null = await connect()

  async function connect(): Promise<Client> {
    const fresh = await database.connect()
    fresh.on('notification', ({ channel, payload = '' }) => {
      const [from, ...rest] = payload.split('\n')
      if (from !== origin) local.deliver(channel, rest.join('\n')) // our own were delivered when they were published
    })
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

/** The same hint twice within the window is one hint. What does not fit the window's bound is dropped: hints may be lost. */
function gatheringSender(database: Database, closing: AbortSignal, log: (error: unknown) => void) {
  const waiting = new Set<string>()
  let sending: Promise<void> | null = null

  const run = async () => {
    while (waiting.size > 0) {
      const rows = [...waiting].map((line) => {
        const cut = line.indexOf('\t')
        return { channel: line.slice(0, cut), message: line.slice(cut + 1) }
      })
      waiting.clear()
      await database.query(NOTIFY, [JSON.stringify(rows)]).catch(log)
      if (!closing.aborted) await sleep(GATHER_MS)
    }
    sending = null
  }

  return {
    send(channel: string, message: string) {
      if (waiting.size >= WAITING_MAX) return
      if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX)
        throw new Error(`A message for ${channel} is too long for NOTIFY.`)
      waiting.add(`${channel}\t${message}`)
      sending ??= run()
    },
    close: async () => sending ?? undefined,
  }
}

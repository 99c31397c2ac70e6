// LISTEN on a connection of its own, which is opened again whenever it breaks. The connection only listens, so a heartbeat
// finds out when the network drops its packets silently.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Database } from '../db/database.ts'
import { runLoop, type Loop } from '../loop.ts'
import { withTimeout } from '../concurrency/waiter.ts'

const RECONNECT_MS = 500
const HEARTBEAT_EVERY_MS = 2000
const STATEMENT_TIMEOUT_MS = 4000

interface PostgresListener {
  /** Resolves when the server has answered. Never rejects: a new connection listens to all channels again. */
  listen(channel: string): Promise<void>
  unlisten(channel: string): Promise<void>
  close(): Promise<void>
}

interface ListenerOptions {
  onNotification(channel: string, payload: string): void
  /** The connection was lost, and another one listens now: what was said in between is gone. */
  onReconnected(): void
  log(error: unknown): void
}

export async function openPostgresListener(
  database: Pick<Database, 'connect'>,
  { onNotification, onReconnected, log }: ListenerOptions,
): Promise<PostgresListener> {
  const closing = new AbortController()
  const channels = new Set<string>()
  let client: Client | null = await connect()
  let reconnecting: Promise<void> = Promise.resolve()
  let last: Promise<void> = Promise.resolve()

  async function connect(): Promise<Client> {
    const fresh = await database.connect()
    fresh.on('notification', ({ channel, payload = '' }) => onNotification(channel, payload))
    fresh.once('end', () => {
      client = null
      if (!closing.signal.aborted) reconnecting = reconnect()
    })
    return fresh
  }

  async function reconnect(): Promise<void> {
    while (client === null && !closing.signal.aborted) {
      await sleep(RECONNECT_MS, undefined, { signal: closing.signal }).catch(() => {})
      if (closing.signal.aborted) return
      try {
        client = await connect()
        for (const channel of channels) await runOn(client, `listen ${quoted(channel)}`)
        onReconnected()
      } catch (error) {
        log(error)
      }
    }
  }

  /** One statement at a time. */
  const say = (sql: string): Promise<void> => {
    last = last.then(() => (client === null ? undefined : runOn(client, sql))).catch(log)
    return last
  }
  const heartbeat: Loop = {
    name: 'listener-heartbeat',
    everyMs: HEARTBEAT_EVERY_MS,
    runOnce: async () => {
      await say('select 1')
      return false
    },
  }
  const beating = runLoop(heartbeat, closing.signal, log)

  return {
    listen(channel) {
      channels.add(channel)
      return say(`listen ${quoted(channel)}`)
    },
    unlisten(channel) {
      channels.delete(channel)
      return say(`unlisten ${quoted(channel)}`)
    },
    async close() {
      closing.abort()
      await reconnecting
      await beating
      await last
      await client?.end()
    },
  }
}

/** A connection without an answer is closed, which opens another. */
async function runOn(client: Client, sql: string): Promise<void> {
  try {
    await withTimeout(client.query(sql), STATEMENT_TIMEOUT_MS, 'The listening connection gave no answer.')
  } catch (error) {
    client.connection.stream.destroy()
    throw error
  }
}

const quoted = (channel: string): string => `"${channel.replaceAll('"', '""')}"`

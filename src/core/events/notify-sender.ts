// NOTIFY inside a transaction serialises all commits (measured: a third of the throughput at 50 connections). So messages are
// sent after the commit on another connection: the first at once, later ones together every few milliseconds. Only the first
// message after a silence may travel within the commit that it announces: nothing commits beside it, and a round trip is saved.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../db/database.ts'

const NOTIFY = `select pg_notify(channel, message) from json_to_recordset($1) as r (channel text, message text)`

const GATHER_MS = 5
const MESSAGE_BYTES_MAX = 7_900 // PostgreSQL takes less than 8,000
const WAITING_MAX = 10_000

/** Equal messages of one window are sent once. Messages beyond the limit are dropped: hints may be lost. */
export function openSender(database: Database, closing: AbortSignal, log: (error: unknown) => void) {
  const waiting = new Set<string>()
  let sending: Promise<void> | null = null

  const run = async () => {
    while (waiting.size > 0) {
      const rows = [...waiting].map((line) => {
        const cut = line.indexOf('\t')
        return { channel: line.slice(0, cut), message: line.slice(cut + 1) }
      })
      waiting.clear()
      await database.asyncCommit.query(NOTIFY, [JSON.stringify(rows)]).catch(log) // a hint needs no disk
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
    /** True if nothing is being sent. Later messages then gather, as if this had been one. */
    reserve() {
      if (sending !== null || closing.aborted) return false
      sending = sleep(GATHER_MS).then(run)
      return true
    },
    close: async () => sending ?? undefined,
  }
}

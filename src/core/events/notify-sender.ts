// NOTIFY inside a committing transaction makes all commits wait for each other (measured: a third of the throughput at 50
// connections). So nothing is notified inside one: the first message goes out at once on a connection of its own, and those
// that follow gather for a few milliseconds and go together. Only the first message after a silence may travel within the
// commit that it tells of: nobody commits beside it, and a round trip is saved.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../db/database.ts'

const NOTIFY = `select pg_notify(channel, message) from json_to_recordset($1) as r (channel text, message text)`

const GATHER_MS = 5
const MESSAGE_BYTES_MAX = 7_900 // PostgreSQL takes less than 8,000
const WAITING_MAX = 10_000

/** The same hint twice within the window is one hint. What does not fit the window's bound is dropped: hints may be lost. */
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
    /** Nothing is being said; what comes next has to gather, as if this had been a message. */
    reserve() {
      if (sending !== null || closing.aborted) return false
      sending = sleep(GATHER_MS).then(run)
      return true
    },
    close: async () => sending ?? undefined,
  }
}

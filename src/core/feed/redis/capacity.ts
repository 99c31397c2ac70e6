// Capacity of the streams. The database is the longer queue: new jobs wait in the outbox until the streams have drained a
// little, instead of making Redis trim entries that nobody has read.
import { setTimeout as sleep } from 'node:timers/promises'
import type { AnnounceOptions } from './announce.ts'
import { BACKLOG, evaluate } from './scripts/script.ts'
import { scriptKeys, type Streams } from './streams.ts'

const FULL = 0.9 // of the length at which a stream is trimmed
const CHECK_AFTER = 10 // one part in so many of the free space
const WAIT_MS = 100
const WAITS_MAX = 10

interface Capacity {
  hasRoom(kind: string): Promise<boolean>
  /** Waits a second at most for room. */
  waitForRoom(kind: string, signal: AbortSignal): Promise<boolean>
  use(kind: string, entries: number): void
}

export function openCapacity(
  { redis, group, maxLength }: AnnounceOptions,
  streamsOf: (kind: string) => Streams,
): Capacity {
  // Entries that may be announced before the streams are checked again: a part of the free space, since others announce too.
  const allowances = new Map<string, number>()

  const hasRoom = async (kind: string) => {
    if ((allowances.get(kind) ?? 0) > 0) return true
    const backlog = Number(await evaluate(redis, BACKLOG, scriptKeys(streamsOf(kind)), [group]))
    const room = FULL * maxLength - backlog
    allowances.set(kind, Math.ceil(room / CHECK_AFTER))
    return room > 0
  }

  return {
    hasRoom,
    async waitForRoom(kind, signal) {
      for (let waits = 0; waits < WAITS_MAX && !signal.aborted; waits += 1) {
        if (await hasRoom(kind)) return true
        await sleep(WAIT_MS, undefined, { signal }).catch(() => {})
      }
      return false
    },
    use(kind, entries) {
      allowances.set(kind, (allowances.get(kind) ?? 0) - entries)
    },
  }
}

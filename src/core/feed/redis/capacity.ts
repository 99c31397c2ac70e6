// Capacity of the queues in Redis. The database is the longer queue: new jobs wait in the outbox until a queue has drained a
// little, instead of filling the memory of Redis, or making it trim stream entries that nobody has read.
import { setTimeout as sleep } from 'node:timers/promises'
import type { KindQueue } from './queue.ts'

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

export function openCapacity(queueOf: (kind: string) => KindQueue, maxLength: number): Capacity {
  // Up to how many announcements the queue need not be checked again: a part of the free space, since others announce too.
  const allowances = new Map<string, number>()
  const used = new Map<string, number>()
  const usedOf = (kind: string) => used.get(kind) ?? 0

  const hasRoom = async (kind: string) => {
    if ((allowances.get(kind) ?? 0) > usedOf(kind)) return true
    const usedBefore = usedOf(kind) // what is announced while the answer is on its way is not in it
    const room = FULL * maxLength - (await queueOf(kind).backlog())
    allowances.set(kind, usedBefore + Math.ceil(room / CHECK_AFTER))
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
      used.set(kind, usedOf(kind) + entries)
    },
  }
}

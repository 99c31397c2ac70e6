// Room in the streams. The database is the longer queue: rather than let Redis trim what nobody has read, what is new waits
// in the outbox until the streams have drained a little.
import { setTimeout as sleep } from 'node:timers/promises'
import { evaluate, script } from './script.ts'
import { scriptKeys, streamsOf } from './streams.ts'
import type { AnnounceOptions } from './announce.ts'

const FULL = 0.9 // of the length at which a stream would be trimmed
const LOOK_AGAIN_AFTER = 10 // a tenth of the room
const WAIT_MS = 100
const WAITS_MAX = 10

/** Entries that nobody has read, in the fullest of the streams. Redis 6.2 does not say; then it is 0. */
const BACKLOG = script(`
local most = 0
for level = 1, 3 do
  local waiting = redis.call('XLEN', KEYS[level])
  for _, one in ipairs(redis.pcall('XINFO', 'GROUPS', KEYS[level])) do
    local facts = {}
    for i = 1, #one, 2 do facts[one[i]] = one[i + 1] end
    if facts['name'] == ARGV[1] then waiting = facts['lag'] or 0 end
  end
  if waiting > most then most = waiting end
end
return most`)

export interface Room {
  has(kind: string): Promise<boolean>
  /** Waits for a while, then says whether there is any. */
  wait(kind: string, signal: AbortSignal): Promise<boolean>
  use(kind: string, entries: number): void
}

export function openRoom({ redis, group, maxLength }: AnnounceOptions, judgeKey: string): Room {
  // How many more may be announced before the streams are looked at again: a part of the room, for others announce too.
  const allowances = new Map<string, number>()

  const has = async (kind: string) => {
    if ((allowances.get(kind) ?? 0) > 0) return true
    const backlog = Number(await evaluate(redis, BACKLOG, scriptKeys(streamsOf(kind, judgeKey)), [group]))
    const room = FULL * maxLength - backlog
    allowances.set(kind, Math.ceil(room / LOOK_AGAIN_AFTER))
    return room > 0
  }

  return {
    has,
    async wait(kind, signal) {
      for (let waits = 0; waits < WAITS_MAX && !signal.aborted; waits += 1) {
        if (await has(kind)) return true
        await sleep(WAIT_MS, undefined, { signal }).catch(() => {})
      }
      return false
    },
    use(kind, entries) {
      allowances.set(kind, (allowances.get(kind) ?? 0) - entries)
    },
  }
}

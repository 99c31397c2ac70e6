// Reading one kind's streams, as one consumer of the group.
//
// What is there is read by a script that shares the free slots among the levels 6 : 3 : 1 and gives what a level does not
// need to the others, highest first: exactly as many entries as there are slots, and no level starves. Only when nothing
// is there does the reader block, on all levels at once.
import { entryFrom, type Entry } from './redis-entry.ts'
import type { GroupConnection } from './redis-group-connection.ts'
import type { RedisFeedOptions } from './redis-options.ts'
import { evaluate, listFrom, script } from './redis-script.ts'
import { openShares } from './redis-shares.ts'
import { keyOf, LEVELS, type Level, type Streams } from './redis-streams.ts'

const BLOCK_MS = 2000
const CURSOR_START = '0-0'

const READ = script(`
local entries, missing, dry = {}, 0, {}
local function read(level, count)
  if count <= 0 then return 0 end
  local reply = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', count, 'STREAMS', KEYS[level], '>')
  local found = reply and reply[1][2] or {}
  for _, entry in ipairs(found) do entries[#entries + 1] = {level, entry} end
  dry[level] = #found < count
  return #found
end
for level = 1, 3 do
  local share = tonumber(ARGV[level + 2])
  missing = missing + share - read(level, share)
end
for level = 1, 3 do
  if not dry[level] then missing = missing - read(level, missing) end
end
return entries`)

export interface Reader {
  /** Entries that nobody has read, at most `limit`; more only if entries reach several levels at once and limit < 3. */
  read(limit: number, signal: AbortSignal): Promise<Entry[]>
  /** The next entries of a level that were left lying, and whether the whole list has now been looked through. */
  claim(level: Level, count: number, signal: AbortSignal): Promise<{ entries: Entry[]; through: boolean }>
}

export function openReader(connection: GroupConnection, streams: Streams, options: RedisFeedOptions): Reader {
  const { group, consumer } = options.streams
  const idleMs = options.leaseMs + options.reclaim.graceMs
  const shares = openShares()
  const cursors = new Map<Level, string>()

  const readNow = async (limit: number) => {
    const reply = await evaluate(connection.redis, READ, streams.keys, [group, consumer, ...shares.of(limit)])
    return listFrom(reply).flatMap((found) => {
      const [level, entry] = listFrom(found)
      return entriesFrom(
        [entry],
        LEVELS.find((candidate) => candidate === level),
      )
    })
  }

  const readNext = async (limit: number, signal: AbortSignal) => {
    // A block that ends at once may find entries on every level: a third of the slots for each cannot be too many.
    const count = Math.max(1, Math.floor(limit / LEVELS.length))
    const words = ['GROUP', group, consumer, 'COUNT', count, 'BLOCK', BLOCK_MS, 'STREAMS', ...streams.keys]
    return listFrom(await connection.block([...words, '>', '>', '>'], signal)).flatMap((found) => {
      const [key, entries] = listFrom(found)
      return entriesFrom(
        entries,
        LEVELS.find((candidate) => keyOf(streams, candidate) === key),
      )
    })
  }

  const read = async (limit: number, signal: AbortSignal) => {
    const entries = await readNow(limit)
    return entries.length > 0 || signal.aborted ? entries : readNext(limit, signal)
  }

  const claim = async (level: Level, count: number) => {
    const words = [group, consumer, idleMs, cursors.get(level) ?? CURSOR_START, 'COUNT', count]
    const [next, entries] = listFrom(await connection.redis.call('XAUTOCLAIM', keyOf(streams, level), ...words))
    cursors.set(level, String(next))
    return { entries: entriesFrom(entries, level, true), through: next === CURSOR_START }
  }

  return {
    read: (limit, signal) => connection.run(() => read(limit, signal), [], signal),
    claim: (level, count, signal) => connection.run(() => claim(level, count), { entries: [], through: true }, signal),
  }
}

const entriesFrom = (reply: unknown, level: Level | undefined, reclaimed = false): Entry[] =>
  level === undefined ? [] : listFrom(reply).flatMap((one) => entryFrom(one, level, reclaimed) ?? [])

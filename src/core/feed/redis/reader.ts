// Reading one kind's streams, as one consumer of the group.
//
// What is there is read by a script that shares the free slots among the levels 6 : 3 : 1 and gives what a level does not
// need to the others, highest first: exactly as many entries as there are slots, and no level starves. Only when nothing
// is there does the reader block, on all levels at once. The script answers with one line per entry: an entry as Redis gives it
// is ten values, and taking thousands of those apart is most of what reading would cost. What does not look like an entry of
// ours comes as it is.
import { parseJobId } from '../../ledger/job.ts'
import { entryFrom, type Entry } from './entry.ts'
import type { GroupConnection } from './group-connection.ts'
import type { RedisFeedOptions } from './options.ts'
import { evaluate, listFrom, script } from './script.ts'
import { openShares } from './weighted-round-robin.ts'
import { keyOf, LEVELS, type Level, type Streams } from './streams.ts'

const BLOCK_MS = 2000
const CURSOR_START = '0-0'

const READ = script(`
local usual, others, missing, dry = {}, {}, 0, {}
local function is_usual(fields)
  return #fields == 8 and fields[1] == 'job_id' and fields[3] == 'enqueue_ts' and fields[5] == 'payload_ref'
    and fields[7] == 'priority' and fields[4] ~= '' and fields[6] ~= ''
    and string.find(fields[2], '^%x[%x-]+$') and string.find(fields[8], '^-?%d+$')
end
local function read(level, count)
  if count <= 0 then return 0 end
  local reply = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', count, 'STREAMS', KEYS[level], '>')
  local found = reply and reply[1][2] or {}
  for _, entry in ipairs(found) do
    local fields = entry[2]
    if fields and is_usual(fields) then usual[#usual + 1] = level .. ' ' .. entry[1] .. ' ' .. fields[2] .. ' ' .. fields[8]
    else others[#others + 1] = {level, entry} end
  end
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
return {table.concat(usual, '\\n'), others}`)

export interface StreamReader {
  /** Entries that nobody has read, at most `limit`; more only if entries reach several levels at once and limit < 3. */
  read(limit: number, signal: AbortSignal): Promise<Entry[]>
  /** The next entries of a level that were left lying, and whether the whole list has now been looked through. */
  claim(level: Level, count: number, signal: AbortSignal): Promise<{ entries: Entry[]; through: boolean }>
}

export function openReader(connection: GroupConnection, streams: Streams, options: RedisFeedOptions): StreamReader {
  const { group, consumer } = options.streams
  const idleMs = options.leaseMs + options.reclaim.graceMs
  const shares = openShares()
  const cursors = new Map<Level, string>()

  const readNow = async (limit: number) => {
    const reply = await evaluate(connection.redis, READ, streams.keys, [group, consumer, ...shares.of(limit)])
    const [usual, others] = listFrom(reply)
    const strange = listFrom(others).flatMap((found) => {
      const [level, entry] = listFrom(found)
      return entriesFrom([entry], levelFrom(level))
    })
    return usual === '' ? strange : [...String(usual).split('\n').flatMap(entryFromLine), ...strange]
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

const levelFrom = (value: unknown): Level | undefined => LEVELS.find((level) => level === Number(value))

/** The script has looked at the rest of it. */
function entryFromLine(line: string): Entry | [] {
  const [place, id = '', job = '', priority = ''] = line.split(' ')
  const level = levelFrom(place)
  if (level === undefined) return []
  return { level, id, jobId: parseJobId(job), priority: Number(priority), broken: false, reclaimed: false }
}

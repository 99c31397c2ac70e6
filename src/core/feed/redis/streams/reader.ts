// Reads the streams of one kind as one consumer of the group. A script reads what is there (read.lua); if nothing is, the
// reader blocks on all levels at once.
import { parseJobId } from '../../../ledger/job.ts'
import type { BlockingConnection } from '../blocking-connection.ts'
import type { RedisFeedOptions } from '../options.ts'
import { payloadKey } from './payloads.ts'
import { evaluate, listFrom, READ } from '../scripts/script.ts'
import { entryFrom, keyOf, levelFrom, LEVELS, type Entry, type Level, type Streams } from './streams.ts'

const BLOCK_MS = 2000
const CURSOR_START = '0-0'
const WEIGHTS = { 1: 6, 2: 3, 3: 1 } as const satisfies Record<Level, number>

export interface StreamReader {
  /** New entries, at most `limit`; more only if `limit` is less than 3 and entries arrive on several levels at once. */
  read(limit: number, signal: AbortSignal): Promise<Entry[]>
  /** The next entries of a level that were left pending, and whether the whole pending list has been visited. */
  claim(level: Level, count: number, signal: AbortSignal): Promise<{ entries: Entry[]; isComplete: boolean }>
}

export function openReader(connection: BlockingConnection, streams: Streams, options: RedisFeedOptions): StreamReader {
  const { group, consumer } = options.streams
  const idleMs = options.leaseMs + options.reclaim.graceMs
  const sharesOf = openWeightedRoundRobin()
  const cursors = new Map<Level, string>()

  const readNow = async (limit: number) => {
    const reply = await evaluate(connection.redis, READ, streams.keys, [group, consumer, ...sharesOf(limit)])
    const [usual, others] = listFrom(reply)
    const unusual = listFrom(others).flatMap((found) => {
      const [level, entry] = listFrom(found)
      return entriesFrom([entry], levelFrom(level))
    })
    return usual === '' ? unusual : [...String(usual).split('\n').flatMap(entryFromLine), ...unusual]
  }

  const readNext = async (limit: number, signal: AbortSignal) => {
    // A block may return entries of every level: with a third of the slots for each there are never too many.
    const count = Math.max(1, Math.floor(limit / LEVELS.length))
    const words = ['GROUP', group, consumer, 'COUNT', count, 'BLOCK', BLOCK_MS, 'STREAMS', ...streams.keys]
    const reading = () => connection.redis.call('XREADGROUP', ...words, '>', '>', '>')
    return listFrom(await connection.block(reading, signal)).flatMap((found) => {
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
    return { entries: entriesFrom(entries, level, true), isComplete: next === CURSOR_START }
  }

  return {
    read: (limit, signal) => connection.run(() => read(limit, signal), [], signal),
    claim: (level, count, signal) =>
      connection.run(() => claim(level, count), { entries: [], isComplete: true }, signal),
  }
}

/**
 * Smooth weighted round robin: how many of `slots` each level is offered, highest first. It continues where it stopped, so
 * that slots that become free one at a time are shared as fairly as a thousand at once.
 */
function openWeightedRoundRobin(): (slots: number) => [high: number, normal: number, low: number] {
  const total = Object.values(WEIGHTS).reduce((sum, weight) => sum + weight, 0)
  const credit = { 1: 0, 2: 0, 3: 0 }
  return (slots) => {
    const rounds = Math.floor(slots / total) // a round gives each level its weight and ends as it began
    const share = { 1: rounds * WEIGHTS[1], 2: rounds * WEIGHTS[2], 3: rounds * WEIGHTS[3] }
    for (let slot = rounds * total; slot < slots; slot += 1) {
      for (const level of LEVELS) credit[level] += WEIGHTS[level]
      const next = LEVELS.reduce((best, level) => (credit[level] > credit[best] ? level : best))
      credit[next] -= total
      share[next] += 1
    }
    return [share[1], share[2], share[3]]
  }
}

const entriesFrom = (reply: unknown, level: Level | undefined, isReclaimed = false): Entry[] =>
  level === undefined ? [] : listFrom(reply).flatMap((one) => entryFrom(one, level, isReclaimed) ?? [])

/** The script has checked the other fields. */
function entryFromLine(line: string): Entry | [] {
  const [place, id = '', job = '', priority = '', question] = line.split(' ')
  const level = levelFrom(place)
  if (level === undefined) return []
  return {
    level,
    id,
    jobId: parseJobId(job),
    priority: Number(priority),
    payloadRef: payloadKey(job),
    hasPayload: question === undefined,
    isBroken: false,
    isReclaimed: false,
  }
}

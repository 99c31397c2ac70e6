// StreamRepair: what the ledger says is ready or abandoned, and no stream knows of, is announced again. A flushed Redis, a trimmed
// stream, a lost entry, a destroyed group: whatever the reason, this is the way back. It also moves up what has waited long
// enough for a higher level, and forgets places of entries that are no more.
import type { Redis } from 'ioredis'
import { systemClock } from '../../clock.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { ReadyJob, RankPosition } from '../../ledger/repair.ts'
import { Wake, type Loop } from '../../loop.ts'
import type { Announcer } from './announcer.ts'
import type { RedisFeedOptions } from './options.ts'
import { PLACE } from './place.ts'
import { openPatience } from './backoff.ts'
import { evaluate, listFrom, script } from './script.ts'
import { agedLevelOf, scriptKeys, streamsOf } from './streams.ts'

const PAGE = 500
const SWEEP_COUNT = 500
const DEFAULTS = { everyMs: 5000, olderThanMs: 30_000, forgetConsumersMs: 86_400_000 }

const FIND_LOST = script(`${PLACE}
local lost = {}
for i = 2, #ARGV, 2 do
  local state, at = place(ARGV[i])
  local waits_too_low = state == 'waiting' and at > tonumber(ARGV[i + 1])
  lost[#lost + 1] = (state == 'gone' or state == 'trimmed' or waits_too_low) and 1 or 0
end
return lost`)

// Two things that nobody would ever take away: the place of a job that was cancelled before its entry was trimmed, and the
// name of a process that is no more.
const SWEEP = script(`
local group, cursor, count, silent_ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
for level = 1, 3 do
  for _, one in ipairs(redis.pcall('XINFO', 'CONSUMERS', KEYS[level], group)) do
    local facts = {}
    for i = 1, #one, 2 do facts[one[i]] = one[i + 1] end
    if facts['pending'] == 0 and facts['idle'] >= silent_ms then
      redis.call('XGROUP', 'DELCONSUMER', KEYS[level], group, facts['name'])
    end
  end
end
local reply = redis.call('HSCAN', KEYS[4], cursor, 'COUNT', count)
for i = 1, #reply[2], 2 do
  local level, id = string.match(reply[2][i + 1], '^(%d) (.+)$')
  local exists = level == nil or #redis.call('XRANGE', KEYS[tonumber(level)], id, id) == 1
  if not exists then redis.call('HDEL', KEYS[4], reply[2][i]) end
end
return reply[1]`)

export interface StreamRepair {
  loop(kinds: readonly string[]): Loop
  /** Redis has lost this kind's streams: look through everything, now. */
  startOver(kind: string): void
}

interface Progress {
  /** Null: at the beginning. */
  after: RankPosition | null
  sweepCursor: string
  /** Everything is looked at, however young, until the end was reached once. */
  all: boolean
}

export function openRepair(redis: Redis, options: RedisFeedOptions, announcer: Announcer): StreamRepair {
  const { ledger, ageingSec, clock = systemClock, log, repair = DEFAULTS } = options
  const { group, judgeKey } = options.streams
  const wake = new Wake()
  const patience = openPatience()
  const progressOf = new Map<string, Progress>()

  const findLost = async (kind: string, jobs: readonly ReadyJob[]) => {
    const now = clock.now()
    const leveled = jobs.map((job) => ({ ...job, level: agedLevelOf(job, { now, ageingSec }) }))
    const args = leveled.flatMap(({ jobId, level }) => [jobId, level])
    const reply = listFrom(await evaluate(redis, FIND_LOST, scriptKeys(streamsOf(kind, judgeKey)), [group, ...args]))
    return leveled.filter((_, index) => reply[index] === 1)
  }

  /** One page. Resolves to whether the next should follow at once: only while pages show that much was lost. */
  const repairKind = async (kind: string): Promise<boolean> => {
    const progress = progressOf.get(kind) ?? { after: null, sweepCursor: '0', all: false }
    progressOf.set(kind, progress)
    if (!(await announcer.hasRoom(kind))) return false

    const { jobs, next } = await find(ledger(), kind, progress, repair.olderThanMs)
    const lost = patience.filter(await findLost(kind, jobs))
    if (lost.length > 0) {
      await announcer.announce(lost)
      patience.note(lost)
      log.info({ kind, jobs: lost.length }, 'announced again what was not in the stream')
    }
    const goOn = next !== null && (progress.all || lost.length > PAGE / 2)
    progress.after = next
    if (next === null) progress.all = false
    progress.sweepCursor = await sweep(kind, progress.sweepCursor)
    return goOn
  }

  const sweep = async (kind: string, cursor: string) => {
    const args = [group, cursor, SWEEP_COUNT, repair.forgetConsumersMs]
    return String(await evaluate(redis, SWEEP, scriptKeys(streamsOf(kind, judgeKey)), args))
  }

  return {
    startOver(kind) {
      progressOf.set(kind, { after: null, sweepCursor: '0', all: true })
      patience.forget()
      wake.ring()
    },
    loop: (kinds) => ({
      name: 'announce lost jobs again',
      everyMs: repair.everyMs,
      wake,
      runOnce: async (signal) => {
        let more = false
        for (const kind of kinds) {
          if (redis.status !== 'ready' || signal.aborted) return false // the outage is known, and logged once
          more = (await repairKind(kind)) || more
        }
        return more
      },
    }),
  }
}

/** A page of what waits, and whatever is abandoned. */
async function find(ledger: Ledger, kind: string, { all, after }: Progress, olderThanMs: number) {
  const waiting = await ledger.findWaiting({ kind, olderThanMs: all ? 0 : olderThanMs, after, limit: PAGE })
  const abandoned = await ledger.findAbandoned({ kinds: [kind], exhausted: false })
  return { jobs: [...waiting.jobs, ...abandoned], next: waiting.next }
}

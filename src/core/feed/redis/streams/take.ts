// Taking jobs: first entries whose acquire failed before, then entries that were left pending, then new ones; never more than
// there are free slots. Only `take` knows how many slots are free, so entries are claimed here as well, when the reclaim
// loop says that it is time.
import type { TakenJob, TakeRequest } from '../../feed.ts'
import type { Taker } from '../queue.ts'
import { acquireEntries, type AcquireDeps } from './acquire.ts'
import type { StreamReader } from './reader.ts'
import { LEVELS, type Entry } from './streams.ts'

/** Limit of claims per level and pass. One claim looks at ten entries for each that it may return. */
const CLAIMS_PER_LEVEL_MAX = 20

export function openTaker(reader: StreamReader, deps: AcquireDeps): Taker {
  const { kind, announcer, acknowledge } = deps
  const { log, metrics, reclaim } = deps.options
  const untried: Entry[] = []
  let reclaimDue = false

  const acquireAll = async (entries: readonly Entry[]) => {
    const { taken, failed, error } = await acquireEntries(deps, entries)
    untried.push(...failed)
    return { taken, failed: failed.length > 0, error }
  }

  /** One pass (docs/judge.md, C4). Each level continues where its last pass stopped. */
  const takePending = async ({ limit, signal }: TakeRequest): Promise<TakenJob[]> => {
    reclaimDue = false
    const started = performance.now()
    const taken: TakenJob[] = []
    for (const level of LEVELS) {
      let seen = 0
      for (let claims = 0; claims < CLAIMS_PER_LEVEL_MAX && !signal.aborted; claims += 1) {
        const wanted = Math.min(reclaim.count - seen, limit - taken.length)
        if (wanted <= 0) break
        const { entries, isComplete } = await reader.claim(level, wanted, signal)
        const answer = await acquireAll(entries)
        taken.push(...answer.taken)
        seen += entries.length
        if (isComplete || answer.failed) break
      }
    }
    metrics.reclaimLatency.observe(performance.now() - started)
    return taken
  }

  /** A new entry in place of each, for whoever has a free slot. */
  const putBack = async (entries: readonly Entry[]): Promise<void> => {
    if (entries.length === 0) return
    try {
      const named = entries.flatMap(({ jobId, priority }) => (jobId === null ? [] : [{ jobId, kind, priority }]))
      await announcer.announce(named)
      await Promise.all(entries.map(acknowledge))
    } catch (error) {
      log.warn({ err: error, kind, entries: entries.length }, 'entries stay pending until others claim them')
    }
  }

  return {
    async take(request) {
      const claimed = reclaimDue && untried.length === 0 ? await takePending(request) : []
      if (claimed.length > 0) return claimed

      const entries = untried.length > 0 ? untried.splice(0) : await reader.read(request.limit, request.signal)
      const { taken, failed, error } = await acquireAll(entries.splice(0, request.limit))
      if (failed) untried.push(...entries)
      else await putBack(entries)
      if (failed && taken.length === 0) throw error
      return taken
    },
    reclaimNext() {
      reclaimDue = true
    },
    close: () => putBack(untried.splice(0)),
  }
}

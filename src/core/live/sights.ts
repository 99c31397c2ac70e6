// What pages have in sight: rows by their ids. Their changes write no events. Once a second each process reads all rows that its
// pages show, in one statement, and tells each page which of its own have changed.
import type { Loop } from '../loop.ts'
import type { LiveOpened } from './topic.ts'

const LOOK_EVERY_MS = 1000

type Sighted = Extract<LiveOpened, { ok: true }>

interface Sight {
  ids: readonly string[]
  /** What was told of each. */
  told: Map<string, string>
  tell: (changed: unknown[]) => void
}

export interface Sights {
  /** All rows are told at the first look, then those that have changed. */
  open(ids: readonly string[], tell: Sight['tell']): Sighted
  look(): Promise<void>
}

export function openSights(read: (ids: readonly string[]) => Promise<ReadonlyMap<string, unknown>>): Sights {
  const sights = new Set<Sight>()
  return {
    open(ids, tell) {
      const sight = { ids, told: new Map<string, string>(), tell }
      sights.add(sight)
      return { ok: true, close: () => sights.delete(sight) }
    },
    async look() {
      const ids = [...new Set([...sights].flatMap((sight) => sight.ids))]
      if (ids.length === 0) return
      const rows = await read(ids)
      const texts = new Map([...rows].map(([id, row]) => [id, JSON.stringify(row)]))
      for (const { ids: own, told, tell } of sights) {
        const changed = own.filter((id) => texts.has(id) && told.get(id) !== texts.get(id))
        for (const id of changed) told.set(id, texts.get(id) ?? '')
        if (changed.length > 0) tell(changed.map((id) => rows.get(id)))
      }
    },
  }
}

/** `what`: what pages show, for the loop's name. */
export const lookLoop = (what: string, ...all: readonly Sights[]): Loop => ({
  name: `watch-${what}-for-pages`,
  everyMs: LOOK_EVERY_MS,
  async runOnce() {
    for (const sights of all) await sights.look()
    return false
  },
})

/** One topic that looks at two things. */
export const both = (one: Sighted, other: Sighted): LiveOpened => ({
  ok: true,
  close() {
    one.close()
    other.close()
  },
})

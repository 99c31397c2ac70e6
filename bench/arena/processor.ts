// Processor time and memory per 1,000 sessions, of all servers at the same time: whatever else the machine does, it does to
// all of them alike. Sessions held need a quiet machine; this does not.

import { setTimeout as sleep } from 'node:timers/promises'
import { TICK_MS } from './game.ts'
import type { Load } from './load-process.ts'
import type { PinnedServer } from './pinned-process.ts'

const SETTLE_MS = 3000
const STATES_PER_SECOND = 1000 / TICK_MS

export interface Contestant {
  title: string
  server: PinnedServer
  load: Load
}

export interface Cost {
  title: string
  sessions: number
  /** Without a session. */
  idlePercent: number
  /** More than idle, of one core, per 1,000 sessions with ten states a second. */
  cpuPercent: number
  /** What the second half of the sessions takes, per 1,000: the first warms the heap. */
  memoryMb: number
}

export async function measureCosts(
  contestants: readonly Contestant[],
  { sessions, measureMs }: { sessions: number; measureMs: number },
): Promise<Cost[]> {
  const half = Math.ceil(sessions / 2)
  const addHalf = async () => {
    for (const { load } of contestants) await load.add(half)
    await sleep(SETTLE_MS)
    return contestants.map(({ server }) => server.usage().rssBytes)
  }
  const idle = await cpuOf(contestants, () => sleep(measureMs))
  const warm = await addHalf()
  const full = await addHalf()
  const states: number[] = []
  const busy = await cpuOf(contestants, async () => {
    const measured = await Promise.all(contestants.map(({ load }) => load.measure(measureMs)))
    states.push(...measured.map(({ statesPerSocket }) => statesPerSocket))
  })

  return contestants.map(({ title }, index) => {
    const at = (values: readonly number[]) => values[index] ?? NaN
    // A server that gets too little of a busy machine sends fewer states, which is no merit.
    const share = at(states) / STATES_PER_SECOND
    return {
      title,
      sessions: 2 * half,
      idlePercent: at(idle),
      cpuPercent: ((at(busy) - at(idle)) * 1000) / (2 * half) / share,
      memoryMb: ((at(full) - at(warm)) / 2 ** 20 / half) * 1000,
    }
  })
}

/** Percent of a core that each took meanwhile. */
async function cpuOf(contestants: readonly Contestant[], meanwhile: () => Promise<unknown>): Promise<number[]> {
  const before = contestants.map(({ server }) => server.usage().cpuMs)
  const began = performance.now()
  await meanwhile()
  const ms = performance.now() - began
  return contestants.map(({ server }, index) => ((server.usage().cpuMs - (before[index] ?? 0)) / ms) * 100)
}

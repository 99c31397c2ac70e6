// How many sessions a server holds: more and more of them, until ticks come late. A step counts as held when 99 of 100 states
// come less than 20 ms late, ten a second reach every socket, and nobody is disconnected.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Load, Measured } from './load-process.ts'
import type { PinnedServer } from './pinned-process.ts'

export const LATE_MS_MAX = 20
const STATES_MIN = 9.8
const SETTLE_MS = 2000
/** The machine has other work as well, now and then: the best try counts, for all alike. */
export const TRIES_MAX = 3

export interface Step extends Measured {
  sessions: number
  isHeld: boolean
  /** Of one core. */
  cpuPercent: number
  rssMb: number
}

export interface Capacity {
  /** The most sessions of a step that was held. */
  held: Step | null
  steps: Step[]
  emptyRssMb: number
}

export async function findCapacity(
  server: PinnedServer,
  load: Load,
  { steps, measureMs }: { steps: readonly number[]; measureMs: number },
  onStep: (step: Step) => void,
): Promise<Capacity> {
  const emptyRssMb = server.usage().rssBytes / 2 ** 20
  const done: Step[] = []
  let sessions = 0
  for (const wanted of steps) {
    await load.add(wanted - sessions)
    sessions = wanted
    await sleep(SETTLE_MS)
    let step = await takeStep(server, load, sessions, measureMs)
    for (let tries = 1; !step.isHeld && tries < TRIES_MAX; tries += 1) {
      const again = await takeStep(server, load, sessions, measureMs)
      if (again.p99 < step.p99) step = again
    }
    done.push(step)
    onStep(step)
    if (!step.isHeld) break
  }
  return { held: done.findLast(({ isHeld }) => isHeld) ?? null, steps: done, emptyRssMb }
}

async function takeStep(server: PinnedServer, load: Load, sessions: number, measureMs: number): Promise<Step> {
  const before = server.usage()
  const began = performance.now()
  const measured = await load.measure(measureMs)
  const after = server.usage()
  const isHeld = measured.p99 < LATE_MS_MAX && measured.statesPerSocket >= STATES_MIN && measured.lost === 0
  return {
    ...measured,
    sessions,
    isHeld,
    cpuPercent: ((after.cpuMs - before.cpuMs) / (performance.now() - began)) * 100,
    rssMb: after.rssBytes / 2 ** 20,
  }
}

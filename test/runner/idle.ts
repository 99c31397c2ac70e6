// Whether the machine has processor time to spare.
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_MS = 2000
const SPARE = 0.3

/** Of all cores since the machine started, in milliseconds. */
function times(): { idle: number; all: number } {
  const perCore = cpus().map(({ times: { user, nice, sys, irq, idle } }) => ({
    idle,
    all: user + nice + sys + irq + idle,
  }))
  return perCore.reduce((sum, core) => ({ idle: sum.idle + core.idle, all: sum.all + core.all }), { idle: 0, all: 0 })
}

/** Whether a third of it was idle during the last two seconds. */
export async function hasSpareTime(): Promise<boolean> {
  const before = times()
  await sleep(LOOK_MS)
  const after = times()
  return after.idle - before.idle > SPARE * (after.all - before.all)
}

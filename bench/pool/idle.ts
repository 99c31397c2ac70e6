// Thousands of workers in long polls, with nothing to do: what they cost, how that grows, and how quickly the next job finds
// one of them.
import { setTimeout as sleep } from 'node:timers/promises'
import { generateKey } from '@reeve/sdk/pool'
import type { Teardown } from '../teardown.ts'
import { dispatchOf, type Latency } from './dispatch.ts'
import { startLoad } from './load-process.ts'
import type { Reeve } from './server.ts'
import { registerWorkers } from './workers.ts'

const SETTLE_MS = 3000
const WATCH_MS = 5000
const PATIENCE_MS = 60_000
const OPENED_AT_ONCE_MAX = 250 // a crowd at the door is not what is measured

export interface IdleStep {
  workers: number
  rssMb: number
  /** Of one core. */
  cpuPercent: number
}

export interface Idle {
  steps: IdleStep[]
  /** With all of them waiting. */
  dispatch: Latency
}

export interface IdleOptions {
  program: string
  counts: readonly number[]
  seconds: number
}

export async function measureIdle(reeve: Reeve, teardown: Teardown, options: IdleOptions): Promise<Idle> {
  const owner = await reeve.account('owner', 'WORKER_OWNER')
  const client = await reeve.account('client', 'CLIENT')
  const key = generateKey()
  const load = startLoad(options.program, reeve.url, key, teardown)
  const steps: IdleStep[] = [await watch(reeve, 0)]
  let waiting = 0
  for (const count of options.counts) {
    const names = Array.from({ length: count - waiting }, (_, n) => `idle ${waiting + n}`)
    for (const id of await registerWorkers(reeve, owner, key, names)) {
      load.worker(id, owner)
      waiting += 1
      if (waiting % OPENED_AT_ONCE_MAX === 0) await untilWaiting(reeve, waiting)
    }
    await untilWaiting(reeve, count)
    steps.push(await watch(reeve, count))
  }
  const dispatch = await dispatchOf(load, client, options.seconds)
  await load.stop()
  return { steps, dispatch }
}

/** A few are between two polls at any time. */
async function untilWaiting(reeve: Reeve, count: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  while (performance.now() < deadline) {
    const { body } = await reeve.http.get<{ polls_waiting: number }>('/admin/pool/status', { ...reeve.admin })
    if (body.polls_waiting >= count * 0.99) return
    await sleep(50)
  }
  throw new Error(`${count} workers should wait by now.`)
}

async function watch(reeve: Reeve, workers: number): Promise<IdleStep> {
  await sleep(SETTLE_MS)
  const before = await reeve.usage()
  await sleep(WATCH_MS)
  const after = await reeve.usage()
  return { workers, rssMb: after.rssMb, cpuPercent: ((after.cpuMs - before.cpuMs) / WATCH_MS) * 100 }
}

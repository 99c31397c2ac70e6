// Thousands of workers in long polls, with nothing to do: what they cost, how that grows, and how quickly the next job finds
// one of them.
import { setTimeout as sleep } from 'node:timers/promises'
import { nowUs } from '../clock.ts'
import { percentile } from '../statistics.ts'
import type { Latency } from './dispatch.ts'
import type { Reeve } from './server.ts'
import { poll, registerWorkers, submit, type BenchWorker } from './workers.ts'

const SETTLE_MS = 3000
const WATCH_MS = 5000
const SAMPLES = 200
const PAUSE_MS = 10

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

export async function measureIdle(reeve: Reeve, counts: readonly number[]): Promise<Idle> {
  const owner = await reeve.account('idle owner', 'WORKER_OWNER')
  const client = await reeve.account('idle client', 'CLIENT')
  const stopping = { now: false }
  const arrivals: ((atUs: number) => void)[] = []
  const working: Promise<void>[] = []
  const steps: IdleStep[] = [await watch(reeve, 0)]
  for (const count of counts) {
    const names = Array.from({ length: count - working.length }, (_, n) => `idle ${working.length + n}`)
    for (const worker of await registerWorkers(reeve, owner, names))
      working.push(wait(reeve, worker, stopping, arrivals))
    await untilWaiting(reeve, count)
    steps.push(await watch(reeve, count))
  }
  const times: number[] = []
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const arrived = new Promise<number>((resolve) => arrivals.push(resolve))
    const sentUs = nowUs()
    await reeve.http.post('/v1/jobs', { payload: {} }, { ...client })
    times.push(((await arrived) - sentUs) / 1000)
    await sleep(PAUSE_MS)
  }
  stopping.now = true
  reeve.http.close()
  await Promise.allSettled(working)
  const dispatch = { samples: SAMPLES, p50: percentile(times, 50), p99: percentile(times, 99), max: Math.max(...times) }
  return { steps, dispatch }
}

/** Polls again and again, as a worker does. */
async function wait(
  reeve: Reeve,
  worker: BenchWorker,
  stopping: { now: boolean },
  arrivals: ((atUs: number) => void)[],
) {
  while (!stopping.now) {
    const found = await poll(reeve, worker)
    if (found === null) continue
    arrivals.shift()?.(found.atUs)
    await submit(reeve, worker, found.assigned)
  }
}

async function untilWaiting(reeve: Reeve, count: number): Promise<void> {
  for (;;) {
    const { body } = await reeve.http.get<{ polls_waiting: number }>('/admin/pool/status', { ...reeve.admin })
    if (body.polls_waiting >= count * 0.99) return
    await sleep(200)
  }
}

async function watch(reeve: Reeve, workers: number): Promise<IdleStep> {
  await sleep(SETTLE_MS)
  const before = await reeve.usage()
  await sleep(WATCH_MS)
  const after = await reeve.usage()
  return { workers, rssMb: after.rssMb, cpuPercent: ((after.cpuSec - before.cpuSec) / (WATCH_MS / 1000)) * 100 }
}

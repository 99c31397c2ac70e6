// How long an idle worker takes to start a new job: from the call of enqueue in one process to the handler in the
// other, one job at a time. The next job comes after the last one's end is recorded and a pause whose length varies,
// so that no contestant's timer can fall into step with it.

import { setTimeout as sleep } from 'node:timers/promises'
import { nowUs } from '../../clock.ts'
import { percentile } from '../../statistics.ts'
import { finished, type Cell } from '../cell.ts'
import type { Limits } from '../options.ts'

const WARM_UP_JOBS = 20
const PAUSE_MS_MIN = 15
const PAUSE_MS_SPAN = 11

export interface IdleStart {
  p50Ms: number
  p95Ms: number
  p99Ms: number
}

export async function measureIdleStart(cell: Cell, { idleJobs }: Limits): Promise<IdleStart> {
  await cell.worker.start()
  const latenciesMs: number[] = []
  for (let round = 0; round < WARM_UP_JOBS + idleJobs; round++) {
    const latencyMs = await startOne(cell, round)
    if (round >= WARM_UP_JOBS) latenciesMs.push(latencyMs)
    await sleep(PAUSE_MS_MIN + ((round * 7) % PAUSE_MS_SPAN))
  }
  const [p50Ms, p95Ms, p99Ms] = [50, 95, 99].map((rank) => percentile(latenciesMs, rank))
  return { p50Ms: p50Ms ?? NaN, p95Ms: p95Ms ?? NaN, p99Ms: p99Ms ?? NaN }
}

async function startOne(cell: Cell, round: number): Promise<number> {
  const startUs = nowUs()
  await cell.producer.enqueue({ round, id: 0 })
  const { firstUs } = await finished(cell, round, 1)
  return (firstUs - startUs) / 1_000
}

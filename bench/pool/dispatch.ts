// Idle dispatch: from the moment a client sends a job to the moment a worker that waited has it.
import { setTimeout as sleep } from 'node:timers/promises'
import { nowUs } from '../clock.ts'
import { percentile } from '../statistics.ts'
import type { Reeve } from './server.ts'
import { poll, registerWorkers, submit } from './workers.ts'

const PAUSE_MS = 15
const WARM = 20

export interface Latency {
  samples: number
  p50: number
  p99: number
  max: number
}

/** `region`: only the one worker of this measurement may take the jobs, however many others wait. */
export async function measureDispatch(reeve: Reeve, options: { label: string; samples: number }): Promise<Latency> {
  const client = await reeve.account(`dispatch ${options.label} client`, 'CLIENT')
  const owner = await reeve.account(`dispatch ${options.label} owner`, 'WORKER_OWNER')
  const [worker] = await registerWorkers(reeve, owner, [`dispatch ${options.label}`])
  if (worker === undefined) throw new Error('no worker')
  const times: number[] = []
  for (let sample = 0; sample < options.samples + WARM; sample += 1) {
    const waiting = poll(reeve, worker)
    await sleep(PAUSE_MS) // its poll waits by now
    const sentUs = nowUs()
    await reeve.http.post('/v1/jobs', { payload: { sentUs } }, { ...client })
    const found = await waiting
    if (found === null) throw new Error('a job was not dispatched')
    if (sample >= WARM) times.push((found.atUs - sentUs) / 1000)
    await submit(reeve, worker, found.assigned)
  }
  return { samples: times.length, p50: percentile(times, 50), p99: percentile(times, 99), max: Math.max(...times) }
}

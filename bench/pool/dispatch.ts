// Idle dispatch: from the moment a client sends a job to the moment a worker that waited has it.
import { generateKey } from '@reeve/sdk/pool'
import type { Teardown } from '../teardown.ts'
import { startLoad, type Load } from './load-process.ts'
import type { Account, Reeve } from './server.ts'
import { registerWorkers } from './workers.ts'

const PAUSE_MS = 15 // its poll waits by then
const WARM_MS = 1000

export interface Latency {
  samples: number
  p50: number
  p99: number
  max: number
}

export async function measureDispatch(
  reeve: Reeve,
  teardown: Teardown,
  { program, seconds }: { program: string; seconds: number },
): Promise<Latency> {
  const client = await reeve.account('client', 'CLIENT')
  const owner = await reeve.account('owner', 'WORKER_OWNER')
  const key = generateKey()
  const load = startLoad(program, reeve.url, key, teardown)
  for (const id of await registerWorkers(reeve, owner, key, ['one'])) load.worker(id, owner)
  const latency = await dispatchOf(load, client, seconds)
  await load.stop()
  return latency
}

/** Of a load whose workers wait already. */
export async function dispatchOf(load: Load, client: Account, seconds: number): Promise<Latency> {
  load.client(client, { pauseMs: PAUSE_MS })
  await load.measure(WARM_MS)
  const { done: samples, p50, p99, max } = await load.measure(seconds * 1000)
  await load.settle()
  return { samples, p50, p99, max }
}

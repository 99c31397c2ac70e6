// Full cycles per second: a client submits and waits, a worker polls, signs and submits, the client sees the result.
import { setTimeout as sleep } from 'node:timers/promises'
import { generateKey } from '@reeve/sdk/pool'
import type { Teardown } from '../teardown.ts'
import { startLoad } from './load-process.ts'
import type { Reeve } from './server.ts'
import { beginCounting, type StatementCount } from './statements.ts'
import { registerWorkers } from './workers.ts'

const WARM_MS = 2000

export interface Cycles {
  workers: number
  replicas: number
  perSec: number
  /** Processor time per cycle, in ms. */
  serverMs: number
  postgresMs: number
  /** Of the load program, of one core. */
  loadPercent: number
  /** Per cycle; empty unless they are counted. */
  statements: StatementCount[]
  walBytes: number
}

export interface CyclesOptions {
  workers: number
  replicas: number
  seconds: number
  /** The compiled load program. */
  program: string
  /** Whether statements are counted. */
  counts: boolean
}

export async function measureCycles(reeve: Reeve, teardown: Teardown, options: CyclesOptions): Promise<Cycles> {
  const { workers: count, replicas, seconds, program } = options
  const client = await reeve.account('client', 'CLIENT')
  const key = generateKey()
  const load = startLoad(program, reeve.url, key, teardown)
  // Replicas go to different owners.
  for (let owner = 0; owner < replicas; owner += 1) {
    const account = await reeve.account(`owner ${owner}`, 'WORKER_OWNER')
    const names = Array.from({ length: Math.ceil(count / replicas) }, (_, n) => `${owner} ${n}`)
    for (const id of await registerWorkers(reeve, account, key, names)) load.worker(id, account)
  }
  // Twice as many clients as can be served at once: a worker never waits for one.
  const more = replicas === 1 ? {} : { replicas, quorum: Math.floor(replicas / 2) + 1 }
  for (let n = 0; n < Math.ceil((2 * count) / replicas); n += 1) load.client(client, { more })
  await sleep(WARM_MS)
  const before = await reeve.usage()
  const counting = options.counts ? await beginCounting(reeve.postgres, reeve.database) : null
  const { done, cpuMs } = await load.measure(seconds * 1000)
  const after = await reeve.usage()
  const counted = await counting?.read()
  await load.settle()
  await load.stop()
  return {
    workers: count,
    replicas,
    perSec: done / seconds,
    serverMs: (after.cpuMs - before.cpuMs) / done,
    postgresMs: (after.postgresCpuMs - before.postgresCpuMs) / done,
    loadPercent: cpuMs / seconds / 10,
    statements: (counted?.statements ?? []).map((one) => ({ ...one, calls: one.calls / done, ms: one.ms / done })),
    walBytes: (counted?.walBytes ?? 0) / done,
  }
}

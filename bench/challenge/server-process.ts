// The benchmark's end of a server process: it listens on a port of its own and ends with the benchmark.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { stopChild } from '../servers/stop-child.ts'
import type { Stop, Teardown } from '../teardown.ts'
import type { Variant } from './variants.ts'

const CHILD = fileURLToPath(new URL('server-child.ts', import.meta.url))
const STOP_MS_MAX = 10_000

export interface PgAt {
  host: string
  port: number
  user: string
  database: string
}

export interface ServerOrder {
  /** `up` is the whole server, with executors. */
  variant: Variant | 'up'
  settings: Record<string, string>
}

export interface ServerProcess {
  port: number
  pid: number
  stop: Stop
}

export async function forkServer(order: ServerOrder, teardown: Teardown): Promise<ServerProcess> {
  // With the flags of a plain `node`: large young generations are for throughput, and make each collection longer.
  const plain = process.execArgv.filter((flag) => !flag.startsWith('--max-semi-space-size'))
  const child = fork(CHILD, [JSON.stringify(order)], {
    execArgv: [...plain, ...(process.env['BENCH_NODE_OPTIONS']?.split(' ') ?? [])],
  })
  const stop = teardown.add(() => stopChild(child, STOP_MS_MAX))
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`the server (${order.variant}) ended: ${code}`)
  })
  died.catch(() => {}) // only of interest while it starts
  const [port] = await Promise.race([once(child, 'message'), died])
  return { port: Number(port), pid: child.pid ?? 0, stop }
}

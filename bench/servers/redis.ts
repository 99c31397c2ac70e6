// Redis without persistence: BullMQ's fastest setting, and the one that Reeve's Redis feed needs (there Redis only
// carries hints). `noeviction` is what BullMQ's guide to production asks for.

import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Teardown } from '../teardown.ts'
import { spawnBound } from './bound-process.ts'
import { freePort } from './free-port.ts'

const SETTINGS = ['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction', '--bind', '127.0.0.1']

export interface RedisServer {
  host: string
  port: number
  /** Of the Unix socket. */
  path: string
  version: string
  pid: number
  /** Empties the server, so that no measurement finds what another left. */
  flush(): Promise<void>
}

export async function startRedis(folder: string, teardown: Teardown): Promise<RedisServer> {
  const host = '127.0.0.1'
  const port = await freePort(host)
  const path = join(folder, 'redis.sock')
  const at = ['--port', String(port), '--unixsocket', path, '--dir', folder]
  const server = spawnBound(['redis-server', ...SETTINGS, ...at])
  teardown.add(() => server.stop('SIGTERM'))

  const client = new Redis({ host, port, retryStrategy: () => 20, maxRetriesPerRequest: null })
  client.on('error', () => {}) // refused connections while the server starts; `ready` says what is wrong if it lasts
  await server.ready(async () => {
    if (client.status !== 'ready') throw new Error('not connected')
  })
  teardown.add(async () => client.disconnect())

  const info = await client.info('server')
  const version = /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown'
  const pid = Number(/process_id:(\d+)/.exec(info)?.[1])
  return { host, port, path, version, pid, flush: async () => void (await client.flushall()) }
}

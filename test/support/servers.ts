// The servers that tests talk to: one PostgreSQL and one Redis for a whole run (test/run.ts starts them and names them in
// the environment), or for one file when it is run alone.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { startEmbedded } from '../../src/core/embedded/server.ts'
import { atEnd, FILE, type Scope } from './cleanup.ts'

export type PgConnection = { host: string; port: number; user: string; database: string }

export interface Server<T> {
  at: T
  stop(): Promise<void>
}

/**
 * Nobody's data: what is not synced to disk is not missed. Tests of durability start a server of their own. A run makes
 * hundreds of databases, and each of them would be looked into for something to vacuum.
 */
export const FAST_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '128MB',
  autovacuum: 'off',
  max_connections: '500',
}

export async function startPostgres(settings: Record<string, string> = FAST_SETTINGS): Promise<Server<PgConnection>> {
  const folder = await temporaryFolder()
  const server = await startEmbedded({ dataDir: folder, settings })
  return {
    at: server.connection,
    stop: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export async function startRedis(
  options: { port?: number; dir?: string; /** A command that it does not know. */ without?: string } = {},
): Promise<Server<string> & { child: ChildProcess }> {
  const port = options.port ?? (await freePort())
  const dir = options.dir ?? (await temporaryFolder())
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', dir]
  if (options.without !== undefined) args.push('--rename-command', options.without, '')
  const child = spawn('redis-server', args, {
    stdio: ['ignore', 'pipe', 'ignore'], // inherited, it would keep the runner waiting if its test is killed
  })
  if (!(await saysReady(child.stdout))) {
    if (options.port !== undefined) throw new Error(`redis-server did not start on port ${port}.`)
    return startRedis({ ...options, dir }) // somebody else was given the free port meanwhile
  }
  child.stdout.resume()
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    if (options.dir === undefined) await rm(dir, { recursive: true, force: true })
  }
  return { at: `redis://127.0.0.1:${port}`, stop, child }
}

async function saysReady(output: Readable): Promise<boolean> {
  for await (const chunk of output) if (String(chunk).includes('Ready to accept connections')) return true
  return false
}

/** Removed when this test or file ends; without one, by whoever asked for it. */
export async function temporaryFolder(t?: Scope): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'reeve-test-'))
  if (t !== undefined) atEnd(t, () => rm(folder, { recursive: true, force: true }))
  return folder
}

// Below those that the kernel gives to clients, and to servers that ask for any port: nobody is given one of these between the moment
// it is found free and the start of a server, or between two starts.
const PORTS_FROM = 20_000
const PORTS = 12_000
const PORTS_PER_PROCESS = 8 // of a test, so that its neighbours rarely try the same ones
let portsTried = 0

export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS_FROM + ((process.pid * PORTS_PER_PROCESS + portsTried) % PORTS)
    portsTried += 1
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = net.createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}

/** The run's PostgreSQL, or one for this file. */
export const sharedPostgres = once1(async (): Promise<PgConnection> => {
  const known = process.env['REEVE_TEST_POSTGRES']
  if (known !== undefined) return JSON.parse(known)
  const server = await startPostgres()
  atEnd(FILE, server.stop)
  return server.at
})

export const sharedRedis = once1(async (): Promise<string> => {
  const known = process.env['REEVE_TEST_REDIS']
  if (known !== undefined) return known
  const server = await startRedis()
  atEnd(FILE, server.stop)
  return server.at
})

function once1<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => (made ??= make())
}

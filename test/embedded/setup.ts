// For this folder's tests: data folders that go away with the test, and real Reeve-like processes to kill.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { chown, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import { type EmbeddedServer, startEmbedded } from '../../src/core/embedded/server.ts'
import { atEnd } from '../support/cleanup.ts'
import { withCluster } from '../support/cluster.ts'
import { LOADER, runnable } from '../support/program.ts'

export const NOBODY = 65_534
export const FAST = { fsync: 'off', shared_buffers: '16MB' }
export const asRoot = process.getuid?.() === 0 ? {} : { skip: 'needs root, to become another user' }
const GONE_MS_MAX = 30_000
const SERVER_MODULE = runnable(new URL('../../src/core/embedded/server.ts', import.meta.url)).href
const LOCK_MODULE = runnable(new URL('../../src/core/embedded/lock.ts', import.meta.url)).href

/** Locks and starts; on SIGINT uses the database for a while longer, as a drain does, then stops. */
const SERVE = `
  const [dataDir, serverModule, lockModule] = process.argv.slice(1)
  const { startEmbedded } = await import(serverModule)
  const { lockDataDir } = await import(lockModule)
  const { default: pg } = await import('pg')
  const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n')
  try {
    await lockDataDir(dataDir)
    const server = await startEmbedded({ dataDir, settings: ${JSON.stringify(FAST)} })
    process.on('SIGINT', async () => {
      const client = new pg.Client(server.connection)
      await client.connect()
      const { rows } = await client.query('select 1 as one from pg_sleep(0.3)')
      await client.end()
      await server.stop()
      say({ drained: rows[0].one })
    })
    say({ pid: server.pid, ...server.connection })
  } catch (error) {
    say({ refused: error.message, name: error.name })
  }`

/** Takes the lock and keeps it. */
const HOLD = `
  const [dataDir, , lockModule] = process.argv.slice(1)
  const { lockDataDir } = await import(lockModule)
  try {
    await lockDataDir(dataDir)
    process.stdout.write('{"held":true}\\n')
    setInterval(() => {}, 1000)
  } catch (error) {
    process.stdout.write(JSON.stringify({ refused: error.message, name: error.name }) + '\\n')
  }`

export type Message = Record<string, unknown>

export interface Peer {
  child: ChildProcess
  pid: number
  /** The next line the process says. */
  next(): Promise<Message>
  kill(signal: 'SIGKILL' | 'SIGINT'): Promise<void>
}

export async function makeFolder(t: TestContext, { owner }: { owner?: number } = {}): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-embedded-')))
  if (owner !== undefined) await chown(folder, owner, owner)
  atEnd(t, async () => {
    await untilNoProcess(folder)
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  return folder
}

/** For tests whose subject is not how a cluster is made. */
export const makeUsedFolder = async (t: TestContext): Promise<string> => withCluster(await makeFolder(t))

/** Started in this process; stopped with the test. */
export async function start(t: TestContext, dataDir: string): Promise<EmbeddedServer> {
  const server = await startEmbedded({ dataDir, settings: FAST })
  atEnd(t, () => server.stop())
  return server
}

export async function query(connection: ClientConfig, sql: string): Promise<Message[]> {
  const client = new Client(connection)
  client.on('error', () => {}) // a server that is killed breaks the connection
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

interface PeerOptions {
  does: 'serve' | 'hold'
  uid?: number
  /** Words before the command. */
  prefix?: string[]
}

/** Another process, as leader of a process group of its own, on the same data folder. */
export function startPeer(t: TestContext, dataDir: string, { does, uid, prefix = [] }: PeerOptions): Peer {
  const script = does === 'serve' ? SERVE : HOLD
  const node = [process.execPath, ...LOADER, '--input-type=module', '-e', script]
  const [program = '', ...args] = [...prefix, ...node, dataDir, SERVER_MODULE, LOCK_MODULE]
  const child = spawn(program, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  assert(child.pid !== undefined)
  atEnd(t, () => child.kill('SIGKILL'))

  return {
    child,
    pid: child.pid,
    async next() {
      const { value, done } = await lines.next()
      assert(done !== true, 'the process ended without a word')
      return JSON.parse(value)
    },
    async kill(signal) {
      child.kill(signal)
      await exited
    },
  }
}

/** Every process whose command line or working folder names the data folder, except this one. */
export function processesOf(dataDir: string): number[] {
  const names = (pid: number) => {
    try {
      return `${readFileSync(`/proc/${pid}/cmdline`, 'utf8')} ${readlinkSync(`/proc/${pid}/cwd`)}`.includes(dataDir)
    } catch {
      return false // it ended meanwhile
    }
  }
  const pids = readdirSync('/proc').map(Number)
  return pids.filter((pid) => Number.isInteger(pid) && pid !== process.pid && names(pid))
}

/** How long it took until no process of the data folder was left. */
export async function untilNoProcess(dataDir: string): Promise<number> {
  const from = performance.now()
  const deadline = AbortSignal.timeout(GONE_MS_MAX)
  while (processesOf(dataDir).length > 0) {
    assert(!deadline.aborted, `processes are left: ${processesOf(dataDir).join(', ')}`)
    await sleep(10)
  }
  return performance.now() - from
}

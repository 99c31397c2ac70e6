// The `reeve worker` command as a process of its own, with what its owner has on disk.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { WorkerEvent } from '@reeve/sdk/pool'
import { atEnd } from '../../support/cleanup.ts'
import { REEVE } from '../../support/program.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import type { Pool } from './setup.ts'

const MAIN = [...REEVE, 'worker']

/** Of this process's environment only what every command has: settings of the tests are none of a worker's. */
const { PATH = '', HOME = '' } = process.env
const ENV = { PATH, HOME }

/** Not spawnSync: the server is in this process. */
export async function reeve(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [...MAIN, ...args], { env: { ...ENV, ...env } })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const [status] = await once(child, 'close')
  return { status: Number(status), stdout, stderr }
}

/** What an owner has: a folder, a place for the key, an API key. */
export async function ownerOf(t: TestContext, pool: Pool) {
  const folder = await temporaryFolder()
  atEnd(t, () => rm(folder, { recursive: true, force: true }))
  const { api_key: apiKey } = (await pool.ask('POST', '/auth/api-keys', { name: 'worker' }, pool.owner)).body
  const env = { WORKER_API_KEY: String(apiKey) }
  return { folder, apiKey: String(apiKey), env, key: join(folder, 'worker.key') }
}

/** Its events, one JSON object a line. */
export function startWorker(t: TestContext, args: readonly string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [...MAIN, 'run', '--json', '--wait', '2', ...args], {
    env: { ...ENV, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const events: WorkerEvent[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) events.push(JSON.parse(line))
  })
  killedAtEnd(t, child)
  const seen = (type: WorkerEvent['type'], count = 1) =>
    until(
      `${count} × ${type}`,
      () => events.filter((event) => event.type === type).length >= count,
      () => events,
    )
  return { child, events, seen }
}

export function killedAtEnd(t: TestContext, child: ChildProcess) {
  atEnd(t, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
}

export async function stopped(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode
}

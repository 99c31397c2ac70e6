// `reeve up` as `npm start` starts it: all doors, PostgreSQL embedded in the data folder.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../servers/free-port.ts'
import { stopChild } from '../servers/stop-child.ts'
import type { Stop, Teardown } from '../teardown.ts'

const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const HOST = '127.0.0.1'
const STOP_MS_MAX = 60_000

export interface StartedServer {
  pid: number
  url: string
  readyMs: number
  /** Resolves when the judge, which prepares its sandbox after the start, has said that it is ready. */
  prepared: Promise<void>
  stop: Stop
}

export async function startServer(dataDir: string, teardown: Teardown): Promise<StartedServer> {
  const port = await freePort(HOST)
  const env = {
    ...process.env,
    REEVE_DATA_DIR: dataDir,
    SERVER_HOST: HOST,
    SERVER_PORT: String(port),
    LOG_LEVEL: 'info',
  }
  const started = performance.now()
  const child = spawn(process.execPath, ['--max-semi-space-size=64', COMMAND, 'up'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = teardown.add(() => stopChild(child, STOP_MS_MAX))
  const outputs = [child.stdout, child.stderr].map((output) => createInterface(output))
  const said = (text: string) =>
    new Promise<void>((resolve, reject) => {
      for (const lines of outputs) lines.on('line', (line) => line.includes(text) && resolve())
      child.once('exit', (code) => reject(new Error(`reeve up ended with ${code}.`)))
    })
  const prepared = said('ready to judge')
  prepared.catch(() => {}) // a server that is stopped before
  await said('Reeve is ready')
  if (child.pid === undefined) throw new Error('reeve up has no process id.')
  return { pid: child.pid, url: `http://${HOST}:${port}`, readyMs: performance.now() - started, prepared, stop }
}

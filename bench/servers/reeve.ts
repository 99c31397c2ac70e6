// `reeve up` as `npm start` starts it: PostgreSQL embedded in the data folder.
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Stop, Teardown } from '../teardown.ts'
import { stopChild } from './stop-child.ts'

const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const STOP_MS_MAX = 60_000

export interface ReeveOptions {
  dataDir: string
  env?: Readonly<Record<string, string>>
  nodeOptions?: readonly string[]
}

export interface StartedReeve {
  child: ChildProcess
  pid: number
  url: string
  readyMs: number
  /** Resolves with the first line that has this text. Rejects when the server ends without it. */
  said(text: string): Promise<string>
  stop: Stop
}

export async function startReeve(options: ReeveOptions, teardown: Teardown): Promise<StartedReeve> {
  const { dataDir, env = {}, nodeOptions = [] } = options
  const { PATH = '', HOME = '' } = process.env
  const started = performance.now()
  const child = spawn(process.execPath, ['--max-semi-space-size=64', ...nodeOptions, COMMAND, 'up'], {
    env: { PATH, HOME, REEVE_DATA_DIR: dataDir, SERVER_PORT: '0', LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const stop = teardown.add(() => stopChild(child, STOP_MS_MAX))
  const outputs = [child.stdout, child.stderr].flatMap((output) => (output === null ? [] : [createInterface(output)]))
  const before: string[] = []
  for (const lines of outputs) lines.on('line', (line) => before.push(line))
  const said = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const hear = (line: string) => line.includes(text) && resolve(line)
      before.forEach(hear)
      for (const lines of outputs) lines.on('line', hear)
      child.once('exit', (code) => reject(new Error(`reeve up ended with ${code}: ${before.at(-1) ?? ''}`)))
    })
  const url = /ready at (\S+)/.exec(await said('Reeve is ready'))?.[1]
  if (child.pid === undefined || url === undefined) throw new Error('reeve up has no process id or no address.')
  return { child, pid: child.pid, url, readyMs: performance.now() - started, said, stop }
}

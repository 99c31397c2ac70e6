// A server that is measured runs on one core; everything else (the load, PostgreSQL, this benchmark) on the others.

import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { stopChild } from '../servers/stop-child.ts'
import type { Stop, Teardown } from '../teardown.ts'

const SERVER_CORE = 0
const TICKS_PER_SECOND = 100 // of /proc: USER_HZ
const PAGE_BYTES = 4096
const STOP_MS_MAX = 15_000

export const canPin = cpus().length > 1 && spawnSync('taskset', ['--version']).status === 0

/** Takes this process, and all that it starts from now on, off the server's core. */
export function leaveServerCore(): void {
  if (canPin) spawnSync('taskset', ['-a', '-cp', `${SERVER_CORE + 1}-${cpus().length - 1}`, String(process.pid)])
}

export interface PinnedServer {
  url: string
  usage(): { cpuMs: number; rssBytes: number }
  stop: Stop
}

/** Resolves when it has said where it is. */
export async function startPinned(
  command: readonly string[],
  env: Record<string, string>,
  teardown: Teardown,
): Promise<PinnedServer> {
  const [file = '', ...args] = [...(canPin ? ['taskset', '-c', String(SERVER_CORE)] : []), ...command]
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(file, args, { env: { PATH, HOME, ...env }, stdio: ['ignore', 'ignore', 'pipe'] })
  const stop = teardown.add(() => stopChild(child, STOP_MS_MAX))
  const url = await ready(child)
  const { pid } = child
  if (pid === undefined) throw new Error('The server did not start.')
  return { url, stop, usage: () => usageOf(pid) }
}

function ready(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-5000)
      const url = /ready at (http\S+)/.exec(said)?.[1]
      if (url !== undefined) resolve(url)
    })
    child.once('exit', (code) => reject(new Error(`The server ended (${code}): ${said}`)))
  })
}

/** `taskset` replaces itself with the server, so that the child's pid is the server's. */
function usageOf(pid: number): { cpuMs: number; rssBytes: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const cpuMs = ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND
  const rssBytes = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES
  return { cpuMs, rssBytes }
}

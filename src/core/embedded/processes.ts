// What can be known of a process that this one did not start.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { codeOf } from '../values/error-code.ts'

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** Nothing happens if the process has ended meanwhile. */
export function signalProcess(pid: number, signal: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

/** Whether `pid` is a PostgreSQL server of this cluster: a number in an old file may belong to anything by now. */
export async function isServerOf(pid: number, cluster: string): Promise<boolean> {
  return `${await commandLine(pid)} `.includes(`/postgres -D ${cluster} `)
}

/** Empty for a process that is gone, and for one that has ended but was not yet collected. */
async function commandLine(pid: number): Promise<string> {
  try {
    if (process.platform === 'linux') return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ')
    return (await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout.trim()
  } catch (error) {
    if (!isAlive(pid)) return ''
    throw error
  }
}

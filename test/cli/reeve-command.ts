// The real command, as a user types it.
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { REEVE, ROOT } from '../support/program.ts'

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

export async function reeve(
  args: readonly string[],
  options: { env?: Record<string, string>; stdin?: string | Buffer } = {},
): Promise<Ran> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [...REEVE, ...args], {
    cwd: ROOT,
    env: { PATH, HOME, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}) // a command that does not read it may be gone
  child.stdin.end(options.stdin ?? '')
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exited])
  return { code, stdout, stderr }
}

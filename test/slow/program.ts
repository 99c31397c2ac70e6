import { spawnSync } from 'node:child_process'

export const has = (program: string): boolean => spawnSync('which', [program]).status === 0

/** What it says. Throws unless it succeeds. */
export function run(program: string, options: readonly string[], { isQuiet = false } = {}): string {
  const stderr = isQuiet ? 'pipe' : 'inherit'
  const { status, stdout } = spawnSync(program, options, { encoding: 'utf8', stdio: ['ignore', 'pipe', stderr] })
  if (status === 0) return stdout
  throw new Error(`${program} ${options.join(' ')} failed\n${stdout}`)
}

// Compiles source and tests into build/, where everything else of the repository is found at the same place as beside src/.
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const BUILD = 'build'
const COMPILED = ['src', 'test', 'bench', 'scripts']

/** Null, or what the compiler said. */
export function compileTests(): string | null {
  rmSync(BUILD, { recursive: true, force: true })
  const { status, stdout, stderr } = spawnSync('npx', ['tsc', '-p', 'test'], { encoding: 'utf8' })
  if (status !== 0) return `${stdout}${stderr}`
  for (const folder of COMPILED)
    cpSync(folder, join(BUILD, folder), { recursive: true, filter: (path) => !path.endsWith('.ts') })
  for (const name of readdirSync('.')) {
    if (![...COMPILED, BUILD, '.git'].includes(name)) symlinkSync(join('..', name), join(BUILD, name))
  }
  return null
}

export const compiled = (file: string): string => join(BUILD, file.replace(/\.ts$/, '.js'))

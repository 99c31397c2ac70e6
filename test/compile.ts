// Compiles source and tests into build/, where everything else of the repository is found at the same place as beside src/.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { bundleTypebox } from './runner/bundle-typebox.ts'

const BUILD = 'build'
const COMPILED = ['src', 'test', 'scripts']

/** Null, or what the compiler said. What is there is written over, not removed: another run may be using it. */
export function compileTests(): string | null {
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/tsc', ['-p', 'test'], { encoding: 'utf8' })
  if (status !== 0) return `${stdout}${stderr}`
  for (const folder of COMPILED)
    cpSync(folder, join(BUILD, folder), { recursive: true, filter: (path) => !path.endsWith('.ts') })
  removeOldMigrations()
  bundleTypebox(BUILD)
  for (const name of readdirSync('.')) {
    const place = join(BUILD, name)
    if (![...COMPILED, BUILD, 'node_modules', '.git'].includes(name) && !existsSync(place))
      symlinkSync(join('..', name), place)
  }
  return null
}

/** A migration that was renamed or merged must not stay: a test applies whatever is there. */
function removeOldMigrations(): void {
  for (const path of readdirSync(join(BUILD, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (path.endsWith('.sql') && !existsSync(join('src', path))) rmSync(join(BUILD, 'src', path))
  }
}

export const compiled = (file: string): string => join(BUILD, file.replace(/\.ts$/, '.js'))

// Compiles source and tests into build/, where everything else of the repository is found at the same place as beside src/.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { extname, join } from 'node:path'
import { bundleStarted } from './runner/bundle.ts'

const BUILD = 'build'
const COMPILED = ['src', 'test', 'scripts']
const DIST = 'dist' // of src/

/** The tree of `runner/tree.ts`, or what the compiler said. What is there is written over, not removed: another run may be using it. */
export async function compileTests(): Promise<{ tree: string } | { wrong: string }> {
  const wrong = await tsc('-b')
  if (wrong !== null) return { wrong }
  cpSync(DIST, join(BUILD, 'src'), { recursive: true, filter: (path) => ['', '.js'].includes(extname(path)) })
  for (const folder of COMPILED)
    cpSync(folder, join(BUILD, folder), { recursive: true, filter: (path) => !path.endsWith('.ts') })
  removeOldMigrations()
  const [wrongInTests, tree] = await Promise.all([tsc('-p', 'test'), bundleStarted(modules(), BUILD)])
  if (wrongInTests !== null) return { wrong: wrongInTests }
  for (const name of readdirSync('.')) {
    const place = join(BUILD, name)
    if (![...COMPILED, BUILD, 'node_modules', '.git'].includes(name) && !existsSync(place))
      symlinkSync(join('..', name), place)
  }
  return { tree }
}

/** Null, or what it said. */
async function tsc(...options: string[]): Promise<string | null> {
  const compiler = spawn('node_modules/.bin/tsc', options, { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [compiler.stdout, compiler.stderr])
    stream.setEncoding('utf8').on('data', (text) => (said += text))
  const [code] = await once(compiler, 'close')
  return code === 0 ? null : said
}

const modules = (): string[] =>
  COMPILED.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ).filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))

/** A migration that was renamed or merged must not stay: a test applies whatever is there. */
function removeOldMigrations(): void {
  for (const path of readdirSync(join(BUILD, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (path.endsWith('.sql') && !existsSync(join('src', path))) rmSync(join(BUILD, 'src', path))
  }
}

/** The console as it is now, for the tests in a browser. Null, or what the build said. */
export function buildConsole(): string | null {
  const sources = [
    'console/src',
    'console/index.html',
    'console/vite.config.ts',
    'sdk/src',
    'docs',
    'package-lock.json',
  ]
  const page = 'console/dist/index.html'
  if (existsSync(page) && Math.max(...sources.map(newest)) < statSync(page).mtimeMs) return null
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'build'], { encoding: 'utf8' })
  return status === 0 ? null : `${stdout}${stderr}`
}

function newest(path: string): number {
  const { mtimeMs } = statSync(path)
  if (!statSync(path).isDirectory()) return mtimeMs
  return Math.max(mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))))
}

export const compiled = (file: string): string => join(BUILD, file.replace(/\.ts$/, '.js'))

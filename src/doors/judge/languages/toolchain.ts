// Finds a language's compiler and interpreter on this machine, and their version. Commands are resolved here, links included,
// because a box has a minimal PATH.
import { spawn } from 'node:child_process'
import { access, constants, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { environment } from '../../../core/config.ts'
import type { Language } from './language.ts'

export interface Toolchain {
  language: Language
  /** The first line that its compiler or interpreter says about itself. */
  version: string
  /** Commands with the first word found; null: nothing to compile. */
  compile: readonly string[] | null
  run: readonly string[]
  header: { name: string; compile: readonly string[] } | null
  /** To be seen in the box, read-only. */
  paths: readonly string[]
}

/** Visible in every box: paths below them need no mount. */
const ROOT_FOLDERS = ['/usr/', '/bin/', '/lib/', '/lib64/']
const SYSTEM_BINARIES = ['/usr/bin', '/usr/local/bin', '/bin']
const ASK_MS_MAX = 20_000
const SAID_CHARS_MAX = 200

export type Missing = { language: Language; missing: string }

/** Everything that a language needs, or what of it is not here. */
export async function findToolchain(language: Language): Promise<Toolchain | Missing> {
  const missing = (what: string): Missing => ({ language, missing: what })
  const home = language.home === undefined ? null : await ask(language.home)
  if (home === null && language.home !== undefined) return missing(language.home[0] ?? '')
  const version = await ask(language.version)
  if (version === null) return missing(language.version[0] ?? '')

  const paths = await existing(language.paths ?? [])
  const show = (path: string) => {
    if (!ROOT_FOLDERS.some((folder) => `${path}/`.startsWith(folder))) paths.push(path)
  }
  if (home !== null) show(home)
  const resolve = async (command: readonly string[]) => {
    const [program = '', ...rest] = command.map((word) => (home === null ? word : word.replaceAll('{home}', home)))
    if (program.startsWith('{')) return [program, ...rest]
    const found = await findProgram(program)
    if (found !== null) show(homeOf(found))
    return found === null ? null : [found, ...rest]
  }
  const commands = { compile: language.compile ?? null, run: language.run, header: language.header?.compile ?? null }
  const found = commands.compile === null ? null : await resolve(commands.compile)
  const compile = found === null ? null : await withLinker(await withStatic(found, language.static ?? []))
  if (compile === null && commands.compile !== null) return missing(commands.compile[0] ?? '')
  const run = await resolve(commands.run)
  if (run === null) return missing(commands.run[0] ?? '')
  const header = commands.header === null ? null : await resolve(commands.header)

  return {
    language,
    version,
    compile,
    run,
    header: header === null || language.header === undefined ? null : { name: language.header.name, compile: header },
    paths: [...new Set(paths)],
  }
}

/** A program that is linked statically starts in half the time. Not every system has the archives for it. */
async function withStatic(command: readonly string[], archives: readonly string[]): Promise<string[]> {
  if (!command.includes('{static}')) return [...command]
  const [compiler = ''] = command
  // The compiler prints a path for what it finds, and the bare name for what it does not.
  const paths = await Promise.all(archives.map((name) => ask([compiler, `-print-file-name=${name}`])))
  const links = archives.length > 0 && paths.every((path) => path?.startsWith('/') === true)
  return command.flatMap((word) => (word === '{static}' ? (links ? ['-static'] : []) : [word]))
}

/** The plugin is for link-time optimization, which is off; to load it takes a tenth of the time of a link. */
const GOLD = ['-fuse-ld=gold', '-fno-use-linker-plugin']

/** The default linker takes 30 ms to link a small program statically, gold 15. Not every system has it. */
async function withLinker(command: readonly string[]): Promise<string[]> {
  if (!command.includes('{linker}')) return [...command]
  const [compiler = ''] = command
  const links = (await ask([compiler, ...GOLD, '-Wl,--version']))?.startsWith('GNU gold') === true
  return command.flatMap((word) => (word === '{linker}' ? (links ? GOLD : []) : [word]))
}

/** System folders first: shims of a version manager do not work in a box. */
async function findProgram(name: string): Promise<string | null> {
  const folders = [...SYSTEM_BINARIES, ...(environment()['PATH'] ?? '').split(':')]
  const candidates = name.startsWith('/') ? [name] : folders.map((folder) => join(folder, name))
  for (const candidate of candidates) {
    try {
      await access(candidate, constants.X_OK)
      return await realpath(candidate)
    } catch {
      // not here: the next one
    }
  }
  return null
}

/** Of /opt/jdk/bin/java it is /opt/jdk: a program's libraries are beside its bin folder. */
const homeOf = (program: string): string =>
  basename(dirname(program)) === 'bin' ? dirname(dirname(program)) : dirname(program)

async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    paths.map((path) =>
      access(path).then(
        () => [path],
        () => [],
      ),
    ),
  )
  return found.flat()
}

/** The first line that a command prints; null if it cannot be run. */
async function ask(command: readonly string[]): Promise<string | null> {
  const program = await findProgram(command[0] ?? '')
  if (program === null) return null
  // By the name that was found, not by its target: some programs ask for the name that they were called by.
  const child = spawn(command[0] ?? '', command.slice(1), {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: ASK_MS_MAX,
    env: { ...environment(), PATH: [...SYSTEM_BINARIES, environment()['PATH'] ?? ''].join(':') },
  })
  const code = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null))
    child.once('close', resolve)
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  if ((await code) !== 0) return null
  return (`${out}${err}`.split('\n')[0] ?? '').trim().slice(0, SAID_CHARS_MAX)
}

// Compiles a source. A program is compiled once for its source, language, compiler and flags; after that it comes from the
// cache, and so does the compiler's message if it does not compile.
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Toolchain } from '../languages/toolchain.ts'
import type { JudgeMeter } from '../metrics.ts'
import type { BoxRunner } from '../sandbox/box.ts'
import type { DiskCache } from './disk-cache.ts'
import { mainClassOf } from './main-class.ts'
import { runOnce, unstarved, type RunScope } from '../work/box-run.ts'
import { readStart } from './read-start.ts'
import { showToBoxes } from './show-to-boxes.ts'

export interface SourceFile {
  name: string
  bytes: Buffer
}

export interface Source {
  toolchain: Toolchain
  files: readonly SourceFile[]
  /** The name of the file that is started. */
  entry: string
}

/** The files whose names are not those of others. */
export const without = (files: readonly SourceFile[], others: readonly SourceFile[]): SourceFile[] =>
  files.filter(({ name }) => !others.some((other) => other.name === name))

/** A program that can be run, wherever its folder is mounted. */
export interface Program {
  folder: string
  toolchain: Toolchain
  entry: string
  mainClass: string
}

export type Compiled = { ok: true; program: Program; output: string } | { ok: false; output: string }

export interface CompileLimits {
  compileMs: number
  compileMemoryBytes: number
}

export interface CompileDeps {
  programs: DiskCache
  headers: PrecompiledHeaders
  meter: JudgeMeter
}

export interface PrecompiledHeaders {
  /** Where the precompiled headers are that this source includes; null: nowhere. */
  for(scope: RunScope, runner: BoxRunner, source: Source): Promise<string | null>
}

/** Paths in a box. */
export const IN_BOX = '/work'
const HEADERS_IN_BOX = '/headers'
const MB = 1024 * 1024
const HEADER = /\.(h|hh|hpp|hxx)$/
const OUTPUT_BYTES_MAX = 64 * 1024
const COMPILER_OUTPUT_BYTES_MAX = 16 * MB
/** A compiled program with all its files. */
export const PROGRAM_BYTES_MAX = 64 * MB
const PROCESSES_MAX = 128
/** Changes when a source may compile to something else than in earlier versions: what they cached is not used any more. */
const FORMAT = 3
const STACK_BYTES = 64 * MB
export const BOX_ENV = { PATH: '/usr/bin:/bin', HOME: '/tmp', TMPDIR: '/tmp', LANG: 'C.UTF-8' } as const

export async function compile(
  deps: CompileDeps,
  scope: RunScope,
  runner: BoxRunner,
  source: Source,
  limits: CompileLimits,
): Promise<Compiled> {
  const { toolchain, entry } = source
  const mainClass = toolchain.run.includes('{main_class}') ? mainClassOf(source.files, entry) : ''
  if (mainClass === null) return { ok: false, output: 'No class has a main method.' }
  const entryOf = await deps.programs.get(keyOf(source), async (folder) => {
    await writeSources(folder, source.files)
    if (toolchain.compile === null) return { ok: true, output: '' }
    const headers = await deps.headers.for(scope, runner, source)
    return runCompiler(scope, runner, { source, folder, headers, limits, mainClass })
  })
  deps.meter.cacheLookup(entryOf.isNew ? 'miss' : 'hit')
  const { ok, output } = outcomeFrom(entryOf.about)
  if (!ok) return { ok: false, output }
  return { ok: true, output, program: { folder: entryOf.folder, toolchain, entry, mainClass } }
}

function keyOf({ toolchain, files, entry }: Source): string {
  const { language, version, compile: command, run } = toolchain
  const hash = createHash('sha256')
  hash.update(JSON.stringify([FORMAT, language.id, version, command, run, entry]))
  for (const { name, bytes } of files.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    hash.update(`\n${JSON.stringify(name)} ${bytes.length}\n`).update(bytes)
  }
  return hash.digest('hex')
}

/** Synchronous, as are the changes of modes below: each call takes microseconds, and the thread pool of a busy machine milliseconds. */
async function writeSources(folder: string, files: readonly SourceFile[]): Promise<void> {
  for (const { name, bytes } of files) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
  }
  await showToBoxes(folder)
  for (const { name, bytes } of files) if (isScript(bytes)) chmodSync(join(folder, name), 0o755)
}

const isScript = (bytes: Buffer): boolean => bytes.toString('latin1', 0, 2) === '#!'

interface Compiling {
  source: Source
  folder: string
  headers: string | null
  limits: CompileLimits
  mainClass: string
}

async function runCompiler(
  scope: RunScope,
  runner: BoxRunner,
  { source, folder, headers, limits, mainClass }: Compiling,
) {
  const { toolchain } = source
  chmodSync(folder, 0o777) // whoever runs in the box writes here
  const box = await runner.open({
    workFolder: folder,
    writable: true,
    readOnlyPaths: toolchain.paths,
    mounts: headers === null ? [] : [{ from: headers, to: HEADERS_IN_BOX }],
    signal: scope.signal,
  })
  const [out, errors] = [join(dirname(folder), 'stdout'), join(dirname(folder), 'stderr')]
  try {
    const command = toolchain.compile ?? []
    const argv = commandOf(command, { source, hasHeaders: headers !== null, mainClass })
    const report = await unstarved(scope, () =>
      runOnce(scope, box, {
        argv,
        env: { ...BOX_ENV, ...toolchain.language.env },
        stdinPath: null,
        stdoutPath: out,
        stderrPath: errors,
        cpuMs: limits.compileMs,
        wallMs: limits.compileMs * 2,
        memoryBytes: limits.compileMemoryBytes,
        processesMax: PROCESSES_MAX,
        outputBytesMax: COMPILER_OUTPUT_BYTES_MAX,
        fileBytesMax: PROGRAM_BYTES_MAX,
        diskBytesMax: PROGRAM_BYTES_MAX,
        stackBytes: STACK_BYTES,
      }),
    )
    const start = (path: string) => (report.outputBytes === 0 ? '' : readStart(path, OUTPUT_BYTES_MAX))
    const said = (await start(errors)) + (await start(out))
    switch (report.verdict) {
      case 'OK':
        return { ok: true, output: said }
      case 'TLE':
        return { ok: false, output: `Compiling took more than ${limits.compileMs / 1000} seconds.\n${said}` }
      case 'MLE':
        return { ok: false, output: `Compiling took too much memory.\n${said}` }
      case 'OLE':
        return { ok: false, output: `The compiler wrote too much.\n${said}` }
      default:
        return { ok: false, output: said === '' ? `The compiler ended with ${report.exitCode}.` : said }
    }
  } finally {
    await box.close()
    chmodSync(folder, 0o755)
  }
}

interface Expanding {
  source: Source
  hasHeaders: boolean
  mainClass: string
}

function commandOf(command: readonly string[], { source, hasHeaders, mainClass }: Expanding): string[] {
  const { extensions } = source.toolchain.language
  const sources = source.files.map(({ name }) => name).filter((name) => extensions.some((end) => name.endsWith(end)))
  return command.flatMap((word) => {
    if (word === '{sources}') return sources.map((name) => `${IN_BOX}/${name}`)
    if (word === '{headers}') return [...(hasHeaders ? [`-I${HEADERS_IN_BOX}`] : []), ...ownHeaders(source.files)]
    return [expanded(word, { dir: IN_BOX, entry: source.entry, memoryBytes: 0, mainClass })]
  })
}

/** Headers in folders of the source itself: they are included by name, from wherever they are. */
function ownHeaders(files: readonly SourceFile[]): string[] {
  const folders = files.filter(({ name }) => HEADER.test(name)).map(({ name }) => dirname(name))
  return [...new Set(folders)].map((folder) => `-I${join(IN_BOX, folder)}`)
}

const expanded = (word: string, to: { dir: string; entry: string; memoryBytes: number; mainClass: string }): string =>
  word
    .replaceAll('{dir}', to.dir)
    .replaceAll('{entry}', `${to.dir}/${to.entry}`)
    .replaceAll('{main_class}', to.mainClass)
    .replaceAll('{memory_mb}', String(Math.max(1, Math.floor(to.memoryBytes / MB))))

/** How the program is started, if its folder is seen at `dir`. */
export const runCommand = (program: Program, dir: string, memoryBytes: number): string[] =>
  program.toolchain.run.map((word) =>
    expanded(word, { dir, entry: program.entry, memoryBytes, mainClass: program.mainClass }),
  )

function outcomeFrom(about: unknown): { ok: boolean; output: string } {
  if (typeof about !== 'object' || about === null || !('ok' in about) || !('output' in about))
    throw new Error('An entry of the cache of programs is not one.')
  return { ok: about.ok === true, output: String(about.output) }
}

// The helper is C, in native/, and is compiled by the system's compiler when it is first needed: once per content of its source.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { StartError } from '../../../core/start-error.ts'

/** The same from src/ and from dist/. */
const SOURCES = fileURLToPath(new URL('../../../../native/', import.meta.url))
const FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-Wall', '-Wextra']
const COMPILE_TIMEOUT_MS = 120_000

let drafts = 0

export interface Programs {
  /** The helper. */
  box: string
  /** Tries to get out of a box, for the test at start. */
  probe: string
}

/** Compiles what is not in the folder yet. Processes that start together each build, and the last one's is kept. */
export async function buildHelper(folder: string): Promise<Programs> {
  const names = (await readdir(SOURCES)).filter((name) => /\.[ch]$/.test(name)).sort()
  const hash = createHash('sha256').update(process.arch)
  for (const name of names) hash.update(name).update(await readFile(join(SOURCES, name)))
  const version = hash.digest('hex').slice(0, 16)

  const isProbe = (name: string) => name === 'probe.c'
  const sources = (wanted: (name: string) => boolean) =>
    names.filter((name) => name.endsWith('.c') && wanted(name)).map((name) => join(SOURCES, name))
  await mkdir(folder, { recursive: true })
  const programs = { box: join(folder, `reeve-box-${version}`), probe: join(folder, `reeve-probe-${version}`) }
  await build(
    programs.box,
    sources((name) => !isProbe(name)),
  )
  await build(programs.probe, sources(isProbe))
  return programs
}

async function build(program: string, sources: readonly string[]): Promise<void> {
  if (await exists(program)) return
  const draft = `${program}.${process.pid}.${(drafts += 1)}` // servers of one process may build at once
  try {
    // Statically linked it starts faster and needs no library in the box; not every system has the archive for it.
    await compile([...FLAGS, '-static', '-o', draft, ...sources]).catch(() =>
      compile([...FLAGS, '-o', draft, ...sources]),
    )
    await rename(draft, program)
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : ''
    throw new StartError(
      `The judge's sandbox is a small C program, and it cannot be compiled: ${error instanceof Error ? error.message : error}\n${said}` +
        'It needs a C compiler: apt-get install gcc libc6-dev',
      { cause: error },
    )
  } finally {
    await rm(draft, { force: true })
  }
}

const compile = (options: readonly string[]) => promisify(execFile)('cc', options, { timeout: COMPILE_TIMEOUT_MS })

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

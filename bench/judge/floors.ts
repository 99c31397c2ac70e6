// What no submission can be quicker than: its compiler, or ten starts of its interpreter, alone in boxes like the judge's, as many at
// a time as the judge has slots. Only the sandbox is there: no HTTP, no database, no caches, no tests.

import { chmod, mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadLanguages } from '../../src/doors/judge/languages/language.ts'
import { findToolchain, type Toolchain } from '../../src/doors/judge/languages/toolchain.ts'
import type { Box, BoxRunner, RunRequest } from '../../src/doors/judge/sandbox/box.ts'
import type { Teardown } from '../teardown.ts'
import { NOTHING, openBenchSandbox } from './sandbox/contestants.ts'

const MB = 2 ** 20
const ROOMY = {
  env: { PATH: '/usr/bin:/bin', HOME: '/tmp', TMPDIR: '/tmp', LANG: 'C.UTF-8' },
  cpuMs: 60_000,
  wallMs: 120_000,
  memoryBytes: 2048 * MB,
  processesMax: 128,
  outputBytesMax: 16 * MB,
  fileBytesMax: 64 * MB,
  diskBytesMax: 64 * MB,
  stackBytes: 64 * MB,
}

export interface Floor {
  /** For people. */
  title: string
  /** Units a second: compiled sources, or ten starts. */
  measure(units: number): Promise<number>
}

/** Where they are measured. */
export interface FloorField {
  folder: string
  /** Where the server keeps its precompiled headers: they are used here, too. */
  headersFolder: string
  runners: readonly BoxRunner[]
}

export async function openFloorField(
  { folder, headersFolder, slots }: Omit<FloorField, 'runners'> & { slots: number },
  teardown: Teardown,
): Promise<FloorField> {
  const sandbox = await openBenchSandbox({ folder, isolate: '', teardown }, 'agent')
  const runners = Array.from({ length: slots }, () => sandbox.openRunner())
  teardown.add(async () => void (await Promise.all(runners.map((runner) => runner.close()))))
  return { folder: join(folder, 'floors'), headersFolder, runners }
}

export async function compilerFloor(field: FloorField, id: string, source: (n: number) => string): Promise<Floor> {
  const { compile, header, language, paths } = await toolchainOf(id)
  const [headers] = header === null ? [] : await readdir(field.headersFolder)
  const mounts = headers === undefined ? [] : [{ from: join(field.headersFolder, headers, 'files'), to: '/headers' }]
  const argv = (compile ?? []).flatMap((word) => {
    if (word === '{headers}') return mounts.length === 0 ? [] : ['-I/headers']
    return [word.replaceAll('{sources}', `/work/${language.source}`).replaceAll('{dir}', '/work')]
  })
  return floorOf(field, 'the compiler', async (runner, workFolder, n) => {
    await writeFile(join(workFolder, language.source), source(n))
    await chmod(workFolder, 0o777)
    const box = await runner.open({ workFolder, writable: true, readOnlyPaths: paths, mounts })
    await run(box, { argv })
    await box.close()
  })
}

export async function interpreterFloor(
  field: FloorField,
  id: string,
  { args, times }: { args: readonly string[]; times: number },
): Promise<Floor> {
  const { language, paths, run: command } = await toolchainOf(id)
  const argv = [command[0] ?? '', ...args]
  return floorOf(field, `${times} starts`, async (runner, workFolder) => {
    const box = await runner.open({ workFolder, writable: false, readOnlyPaths: paths })
    for (let time = 0; time < times; time += 1) await run(box, { argv, env: { ...ROOMY.env, ...language.env } })
    await box.close()
  })
}

function floorOf(
  { folder, runners }: FloorField,
  title: string,
  unit: (runner: BoxRunner, workFolder: string, n: number) => Promise<void>,
): Floor {
  return {
    title,
    async measure(units) {
      let done = 0
      const started = performance.now()
      const unitsOf = async (runner: BoxRunner) => {
        while (done < units) {
          done += 1
          const n = done
          const workFolder = await mkdtemp(join(folder, '-'))
          await unit(runner, workFolder, n)
        }
      }
      await mkdir(folder, { recursive: true })
      await Promise.all(runners.map(unitsOf))
      return (units / (performance.now() - started)) * 1000
    },
  }
}

async function toolchainOf(id: string): Promise<Toolchain> {
  const language = (await loadLanguages('')).get(id)
  const found = language === undefined ? null : await findToolchain(language)
  if (found === null || 'missing' in found) throw new Error(`${id} is not installed.`)
  return found
}

async function run(box: Box, request: Pick<RunRequest, 'argv'> & Partial<RunRequest>): Promise<void> {
  const { verdict, sandboxError } = await box.run({ ...NOTHING, ...ROOMY, ...request })
  if (verdict !== 'OK') throw new Error(`${request.argv.join(' ')}: ${verdict} ${sandboxError}`)
}

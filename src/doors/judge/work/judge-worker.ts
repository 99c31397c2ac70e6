// Everything that judging needs on this machine, opened once: the installed languages, the caches, and the slots.
import { mkdir, readdir } from 'node:fs/promises'
import { availableParallelism, hostname } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../../core/clock.ts'
import { newJobId } from '../../../core/random.ts'
import type { Language } from '../languages/language.ts'
import { findToolchain, type Missing, type Toolchain } from '../languages/toolchain.ts'
import type { JudgeMeter } from '../metrics.ts'
import type { BoxRunner } from '../sandbox/box.ts'
import { removeTree } from '../sandbox/remove-tree.ts'
import { openDiskCache, type DiskCache } from '../programs/disk-cache.ts'
import { HEADER_BYTES_MAX, openHeaders } from '../programs/headers.ts'
import { fileNameOfClass } from '../programs/main-class.ts'
import type { JudgePayload } from '../submissions/payload.ts'
import { PROGRAM_BYTES_MAX, type CompileDeps } from '../programs/compile.ts'
import type { RunScope } from './box-run.ts'
import type { LoadedProblem } from './test-run.ts'
import { openSlots, type Slots } from './slot.ts'
import { openValidators, type Validators } from '../programs/validators.ts'

export interface JudgeWorker extends CompileDeps {
  toolchains: ReadonlyMap<string, Toolchain>
  missing: readonly Missing[]
  packages: DiskCache
  slots: Slots
  validators: Validators
  /** Throws JudgeFailure if the problem's validator does not compile. */
  checkValidator(problem: LoadedProblem, scope: RunScope): Promise<void>
  /** Keeps the caches within their bounds. */
  prune(): Promise<void>
  close(): Promise<void>
}

export interface JudgeWorkerOptions {
  folder: string
  cacheBytesMax: number
  /** The most that one package can unpack to. */
  packageBytesMax: number
  slotCount: number
  languages: ReadonlyMap<string, Language>
  openRunner(): BoxRunner
  meter: JudgeMeter
  clock: Clock
}

/** Of JUDGE_CACHE_MAX_BYTES. */
const PROGRAMS_SHARE = 0.4
const PACKAGES_SHARE = 0.5
const HEADERS_SHARE = 0.1

export const slotsOf = (asked: number): number => (asked === 0 ? availableParallelism() : asked)

export async function openJudgeWorker(options: JudgeWorkerOptions): Promise<JudgeWorker> {
  const { folder, cacheBytesMax, packageBytesMax, slotCount, languages, openRunner, meter, clock } = options
  const cache = (name: string, share: number, entryBytesMax: number) => {
    const bytesMax = cacheBytesMax * share
    const reserved = Math.min(entryBytesMax, bytesMax / (2 * slotCount))
    return openDiskCache({ folder: join(folder, name), bytesMax, entryBytesMax: reserved, clock })
  }
  const programs = cache('programs', PROGRAMS_SHARE, PROGRAM_BYTES_MAX)
  const packages = cache('packages', PACKAGES_SHARE, packageBytesMax)
  const scratch = join(folder, 'slots', `${hostname()}~${process.pid}~${newJobId()}`)
  for (const name of ['programs', 'packages', 'headers']) await mkdir(join(folder, name), { recursive: true })
  await removeDeadSlots(join(folder, 'slots'))
  await mkdir(scratch, { recursive: true })

  const found = await Promise.all([...languages.values()].map(findToolchain))
  const toolchains = new Map(found.flatMap((one) => ('missing' in one ? [] : [[one.language.id, one] as const])))
  const compiling: CompileDeps = {
    programs,
    headers: openHeaders(cache('headers', HEADERS_SHARE, HEADER_BYTES_MAX)),
    meter,
  }
  const slots = openSlots({ folder: scratch, count: slotCount, openRunner })
  const checkSlots = openSlots({ folder: join(scratch, 'checks'), count: 1, openRunner }) // no waiting for submissions
  const validators = openValidators(compiling, toolchains)

  return {
    ...compiling,
    toolchains,
    missing: found.filter((one): one is Missing => 'missing' in one),
    packages,
    slots,
    validators,
    async checkValidator(problem, scope) {
      if (problem.package.validator === null) return
      const slot = await checkSlots.take()
      try {
        await validators.get(problem, scope, slot)
      } finally {
        await checkSlots.give(slot, { failed: true }) // imports are rare: its processes do not stay
      }
    },
    async prune() {
      await programs.prune()
      await packages.prune()
    },
    async close() {
      await slots.close()
      await checkSlots.close()
      await removeTree(scratch)
    },
  }
}

/** Of processes of this machine that were killed. */
async function removeDeadSlots(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const [host, pid] = name.split('~')
    if (host === hostname() && !isAlive(Number(pid))) await removeTree(join(folder, name))
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** A submission is a text without a name; Java requires the name of its public class. */
export function sourceFileOf({ toolchains }: JudgeWorker, { language, code }: Pick<JudgePayload, 'language' | 'code'>) {
  const bytes = Buffer.from(code)
  const source = toolchains.get(language)?.language.source ?? 'main'
  return { name: source.endsWith('.java') ? fileNameOfClass(bytes) : source, bytes }
}

// Imports a package: it is inspected first and only then kept. A refused package changes nothing, and the error says what to
// fix.
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { systemClock } from '../../../core/clock.ts'
import { metered } from '../../../core/files/meter.ts'
import type { FileStore } from '../../../core/files/file-store.ts'
import { PackageError } from '../package/package.ts'
import type { InspectedPackage, InspectRequest } from './inspect-package.ts'
import type { ProblemStore } from './problem-store.ts'

const LEFTOVER_AGE_MS = 24 * 3_600_000
const PROBLEM_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export const isProblemId = (text: string): boolean => PROBLEM_ID.test(text)

/** Where a package's zip is kept. */
export const packageKey = (sha256: string): string => `problems/${sha256}.zip`

export interface ImportDeps {
  files: FileStore
  problems: ProblemStore
  /** For uploads while they are inspected. */
  folder: string
  inspect(request: InspectRequest): Promise<InspectedPackage>
  bytesMax: number
  unpackedBytesMax: number
}

export interface Imported {
  problemId: string
  title: string
  tests: number
  created: boolean
}

/** From a stream: it is written to disk first, because a zip is read from its end. */
export async function importStream(
  deps: ImportDeps,
  content: Readable,
  { problemId, accountId }: { problemId: string; accountId: number | null },
): Promise<Imported> {
  return withFolder(deps.folder, async (folder) => {
    const zip = join(folder, 'package.zip')
    await pipeline(metered(content, deps.bytesMax), createWriteStream(zip))
    return importZip(deps, zip, { problemId, accountId })
  })
}

/** Throws PackageError where the package is at fault. */
export async function importZip(
  deps: ImportDeps,
  zip: string,
  { problemId, accountId }: { problemId: string; accountId: number | null },
): Promise<Imported> {
  const { files, problems, inspect, bytesMax, unpackedBytesMax } = deps
  const { size } = await stat(zip)
  if (size > bytesMax) throw new PackageError(`The package has more than ${bytesMax} bytes.`)
  return withFolder(deps.folder, async (folder) => {
    const { title: ownTitle, tests, about, sha256 } = await inspect({ zip, folder, unpackedBytesMax })
    const key = packageKey(sha256)
    if ((await files.stat(key)) === null) {
      await files.put(key, createReadStream(zip), { bytesMax, contentType: 'application/zip' })
    }
    const title = ownTitle ?? problemId
    const stored = { problemId, title, packageSha256: sha256, packageBytes: size, tests, about }
    return { problemId, title, tests, created: await problems.put(stored, accountId) }
  })
}

async function withFolder<Result>(parent: string, use: (folder: string) => Promise<Result>): Promise<Result> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  await removeLeftovers(parent)
  const folder = await mkdtemp(join(parent, 'package-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Of processes that were killed while they looked at a package. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const path = join(parent, name)
    const changedAt = (await stat(path).catch(() => null))?.mtimeMs ?? Infinity // gone: its import ended
    if (systemClock.now() - changedAt > LEFTOVER_AGE_MS) await rm(path, { recursive: true, force: true })
  }
}

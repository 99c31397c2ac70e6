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
import type { FlatLimits } from '../package/flat-archive.ts'
import { PackageError } from '../package/package.ts'
import { PICTURE_BYTES_MAX, pictureType } from '../package/pictures.ts'
import type { InspectedPackage, InspectRequest } from './inspect-package.ts'
import type { ProblemStore } from './problem-store.ts'

const LEFTOVER_AGE_MS = 24 * 3_600_000
const PROBLEM_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export const isProblemId = (text: string): boolean => PROBLEM_ID.test(text)

/** Where a package's zip is kept. */
export const packageKey = (sha256: string): string => `problems/${sha256}.zip`

/** Where a picture of a statement is kept. */
export const pictureKey = (sha256: string): string => `problems/pictures/${sha256}`

export interface ImportDeps {
  files: FileStore
  problems: ProblemStore
  /** For uploads while they are inspected. */
  folder: string
  inspect(request: InspectRequest, signal?: AbortSignal): Promise<InspectedPackage>
  /** What to fix in the package, found by compiling its validator; null: nothing, or nothing here can compile it. */
  check(packageFolder: string): Promise<string | null>
  bytesMax: number
  unpackedBytesMax: number
}

export interface ImportTarget {
  problemId: string
  /** Null: from the command line. */
  accountId: number | null
  /** Of a flat archive. */
  limits?: FlatLimits
  /** Nobody waits for the import any more: it stops before its next step. */
  signal?: AbortSignal
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
  target: ImportTarget,
): Promise<Imported> {
  return withFolder(deps.folder, async (folder) => {
    const zip = join(folder, 'package.zip')
    await pipeline(metered(content, deps.bytesMax), createWriteStream(zip))
    return importZip(deps, zip, target)
  })
}

/** Throws PackageError where the package is at fault. */
export async function importZip(
  deps: ImportDeps,
  zip: string,
  target: ImportTarget,
): Promise<Imported> {
  const { files, problems, inspect, check, bytesMax, unpackedBytesMax } = deps
  const { problemId, accountId, limits = {}, signal } = target
  if ((await stat(zip)).size > bytesMax) throw new PackageError(`The package has more than ${bytesMax} bytes.`)
  return withFolder(deps.folder, async (folder) => {
    const inspected = await inspect({ zip, folder, unpackedBytesMax, ...limits }, signal)
    signal?.throwIfAborted()
    const fault = await check(inspected.folder)
    if (fault !== null) throw new PackageError(fault)
    signal?.throwIfAborted()
    const { tests, about, sha256 } = inspected
    const key = packageKey(sha256)
    if ((await files.stat(key)) === null) {
      await files.put(key, createReadStream(inspected.zip), { bytesMax, contentType: 'application/zip' })
    }
    await keepPictures(files, inspected)
    const title = inspected.title ?? problemId
    const stored = { problemId, title, packageSha256: sha256, packageBytes: (await stat(inspected.zip)).size, tests, about }
    return { problemId, title, tests, created: await problems.put(stored, accountId) }
  })
}

async function keepPictures(files: FileStore, { folder, about }: InspectedPackage): Promise<void> {
  for (const { name, path, sha256 } of about.pictures ?? []) {
    const key = pictureKey(sha256)
    if ((await files.stat(key)) !== null) continue
    const contentType = pictureType(name) ?? 'application/octet-stream'
    await files.put(key, createReadStream(join(folder, path)), { bytesMax: PICTURE_BYTES_MAX, contentType })
  }
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

/** Of imports whose process was killed. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const path = join(parent, name)
    const changedAt = (await stat(path).catch(() => null))?.mtimeMs ?? Infinity // gone: its import ended
    if (systemClock.now() - changedAt > LEFTOVER_AGE_MS) await rm(path, { recursive: true, force: true })
  }
}

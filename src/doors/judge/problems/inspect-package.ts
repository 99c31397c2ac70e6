// Unpacks and reads a package as a worker will, and returns what the server keeps of it. A package is somebody's upload: the
// server does this in other threads (inspect-threads.ts).
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { packFlatArchive, type FlatLimits } from '../package/flat-archive.ts'
import { PackageError } from '../package/package.ts'
import { readPackage } from '../package/read-package.ts'
import { unzip } from '../package/unzip.ts'
import { zipFolder } from '../package/zip-folder.ts'
import { aboutOf, type ProblemAbout } from './problem-about.ts'

export interface InspectRequest extends FlatLimits {
  zip: string
  /** Empty; the package is unpacked here. */
  folder: string
  unpackedBytesMax: number
}

export interface InspectedPackage {
  /** Where the package is unpacked. */
  folder: string
  /** What to keep: the zip itself, or the package that was made of a flat archive. */
  zip: string
  title: string | null
  tests: number
  about: ProblemAbout
  sha256: string
}

/** Throws PackageError where the package is at fault. */
export async function inspectPackage(request: InspectRequest): Promise<InspectedPackage> {
  const { folder, unpackedBytesMax } = request
  const unpacked = join(folder, 'unpacked')
  await mkdir(unpacked)
  const { folder: own, isFlat } = await unzip(request.zip, unpacked, unpackedBytesMax)
  const zip = isFlat ? await asPackage(own, request) : request.zip
  const packageFolder = isFlat ? join(folder, 'package') : own
  const problem = await readPackage(packageFolder)
  if (!isFlat && (request.timeSec !== undefined || request.memoryMb !== undefined))
    throw new PackageError('Limits can only be given for an archive without problem.yaml.')
  const about = await aboutOf(problem)
  const { title, tests } = problem
  return { folder: packageFolder, zip, title, tests: tests.length, about, sha256: await hashOf(zip) }
}

async function asPackage(own: string, { folder, timeSec, memoryMb }: InspectRequest): Promise<string> {
  const zip = join(folder, 'package.zip')
  const target = join(folder, 'package')
  await packFlatArchive(own, target, { timeSec, memoryMb })
  await zipFolder(target, zip)
  return zip
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

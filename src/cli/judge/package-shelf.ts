// The problem packages of a folder, known by the hash of their zip, as the server knows them: zips as they are, and folders
// as `reeve problem import` packs them.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { PackageError } from '../../doors/judge/package/package.ts'
import { zipFolder } from '../../doors/judge/package/zip-folder.ts'
import { CommandFailed } from '../failure.ts'
import { plain } from '../terminal.ts'

export interface PackageShelf {
  /** In the order of their names. */
  hashes: readonly string[]
  /** The zip; null: there is none of this hash, or no longer. */
  fetch(sha256: string): Promise<Readable | null>
  close(): Promise<void>
}

/** Read once: what is put there later is not seen. */
export async function openPackageShelf(folder: string): Promise<PackageShelf> {
  const packed = await mkdtemp(join(tmpdir(), 'reeve-packages-'))
  const close = () => rm(packed, { recursive: true, force: true })
  try {
    const zips = new Map<string, string>()
    for (const name of await namesIn(folder)) {
      const zip = await zipOf(join(folder, name), join(packed, `${name}.zip`))
      if (zip !== null) zips.set(await hashOf(zip), zip)
    }
    if (zips.size === 0) throw new CommandFailed(`There is no problem package in ${plain(folder)}.`)
    return {
      hashes: [...zips.keys()],
      async fetch(sha256) {
        const zip = zips.get(sha256)
        const isThere = zip !== undefined && (await hashOf(zip).catch(() => null)) === sha256 // it may have been replaced
        return isThere ? createReadStream(zip) : null
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort()
  } catch {
    throw new CommandFailed(`Cannot read the folder ${plain(folder)}.`)
  }
}

/** Null: it is no package. */
async function zipOf(path: string, into: string): Promise<string | null> {
  const seen = await stat(path).catch(() => null)
  if (seen?.isFile() === true && path.toLowerCase().endsWith('.zip')) return path
  if (seen?.isDirectory() !== true || !(await isFile(join(path, 'problem.yaml')))) return null
  try {
    await zipFolder(path, into)
    return into
  } catch (error) {
    if (error instanceof PackageError) throw new CommandFailed(`${plain(path)}: ${plain(error.message)}`)
    throw error
  }
}

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => null))?.isFile() ?? false

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

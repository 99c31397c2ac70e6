// Unpacks an untrusted zip. It may contain only plain files and folders with plain names, and no more bytes than allowed,
// whatever its headers say.
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Transform, type TransformCallback } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { openPromise, type Entry } from 'yauzl'
import { isFlatArchive } from './flat-archive.ts'
import { PackageError } from './package.ts'

const ENTRIES_MAX = 50_000
const NAME_BYTES_MAX = 200
const PATH_BYTES_MAX = 512
const S_IFMT = 0o170000
const S_IFREG = 0o100000
const S_IFDIR = 0o040000
const MADE_BY_UNIX = 3
const NAME = /^[^\p{Cc}/\\]+$/u
/** What some archivers add, and no package needs. */
const IGNORED = /^(__MACOSX\/|.*\/)?(\._[^/]*|\.DS_Store)$|^__MACOSX\//

export interface Unzipped {
  /** The package's own: the folder that it was unpacked into, or its only subfolder. */
  folder: string
  /** An archive of tests without problem.yaml. */
  isFlat: boolean
}

/** Unpacks into an empty folder. */
export async function unzip(zipPath: string, folder: string, bytesMax: number): Promise<Unzipped> {
  const names = new Set<string>()
  try {
    const zip = await openPromise(zipPath, { strictFileNames: false })
    try {
      if (zip.entryCount > ENTRIES_MAX) throw new PackageError(`The zip holds more than ${ENTRIES_MAX} entries.`)
      let left = bytesMax
      for await (const entry of zip.eachEntry()) {
        if (entry.fileName.length <= PATH_BYTES_MAX && IGNORED.test(entry.fileName)) continue
        const path = pathOf(entry)
        if (path === null) continue
        if (names.has(path)) throw new PackageError(`The zip holds ${path} twice.`)
        names.add(path)
        await mkdir(join(folder, dirname(path)), { recursive: true })
        const limit = new ByteLimit(left, bytesMax)
        const content = await zip.openReadStreamPromise(entry) // first: if it fails, no file is being opened
        await pipeline(content, limit, createWriteStream(join(folder, path), { flags: 'wx', mode: 0o644 }))
        left -= limit.bytes
      }
    } finally {
      zip.close()
    }
  } catch (error) {
    throw explained(error)
  }
  const { top, isFlat } = topFolderOf(names)
  return { folder: join(folder, top), isFlat }
}

/** Faults of the zip are reported to its author; faults of this machine's disk are not. */
function explained(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof PackageError) return error
  if (!('syscall' in error)) return new PackageError(`The zip cannot be read: ${error.message}.`)
  const isClash = 'code' in error && ['EEXIST', 'ENOTDIR', 'EISDIR'].includes(String(error.code))
  return isClash ? new PackageError('The zip holds a file and a folder of the same name.') : error
}

/** Null: a folder, which is made when a file is in it. */
function pathOf(entry: Entry): string | null {
  const { fileName } = entry
  const type = entry.versionMadeBy >> 8 === MADE_BY_UNIX ? (entry.externalFileAttributes >>> 16) & S_IFMT : 0
  if (type !== 0 && type !== S_IFREG && type !== S_IFDIR)
    throw new PackageError(`${shortened(fileName)} is neither a file nor a folder: links are not taken.`)
  if (entry.isEncrypted()) throw new PackageError(`${shortened(fileName)} is encrypted.`)
  const path = fileName.endsWith('/') ? fileName.slice(0, -1) : fileName
  const parts = path.split('/')
  const isPlain = parts.every(
    (part) => NAME.test(part) && part !== '.' && part !== '..' && Buffer.byteLength(part) <= NAME_BYTES_MAX,
  )
  if (!isPlain || Buffer.byteLength(path) > PATH_BYTES_MAX)
    throw new PackageError(`${shortened(fileName)} is not a name that a package may have.`)
  return fileName.endsWith('/') ? null : path
}

const shortened = (name: string): string => JSON.stringify(name.slice(0, 100))

/** The one folder that everything is in, unless problem.yaml or the tests are at the root. */
function topFolderOf(names: ReadonlySet<string>): { top: string; isFlat: boolean } {
  if (names.has('problem.yaml')) return { top: '', isFlat: false }
  const tops = new Set([...names].map((name) => name.slice(0, name.indexOf('/') + 1)))
  const [top = ''] = tops
  if (tops.size === 1 && names.has(`${top}problem.yaml`)) return { top, isFlat: false }
  if (tops.size === 1 && isFlatArchive([...names].map((name) => name.slice(top.length)))) return { top, isFlat: true }
  throw new PackageError('problem.yaml is missing: it must be at the root of the zip, or in its only folder.')
}

class ByteLimit extends Transform {
  readonly #bytesMax: number
  readonly #total: number
  bytes = 0

  constructor(bytesMax: number, total: number) {
    super()
    this.#bytesMax = bytesMax
    this.#total = total
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.bytes += chunk.length
    if (this.bytes > this.#bytesMax) done(new PackageError(`Unpacked, the zip has more than ${this.#total} bytes.`))
    else done(null, chunk)
  }
}

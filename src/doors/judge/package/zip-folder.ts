// A package folder as a zip, for those who have it as files: the command line, and the samples that come with Reeve. Only
// what a package needs is written: names, bytes, no dates, so that the same files are the same zip. Links are followed as
// long as they stay inside, or in the collection that the package is a part of.
import { open, readdir, realpath, stat, type FileHandle } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'
import { PackageError } from './package.ts'

const FILES_MAX = 50_000
const FILE_BYTES_MAX = 1024 ** 3
const ZIP_BYTES_MAX = 2 ** 32 - 1
const LOCAL_HEADER = 0x04034b50
const CENTRAL_HEADER = 0x02014b50
const END_OF_CENTRAL = 0x06054b50
const VERSION = 20
const UTF8_NAMES = 0x0800
const DEFLATED = 8
const DOS_DATE = 0x21 // 1980-01-01
const LEFT_OUT = new Set(['.git', '.svn', '.hg', '.DS_Store', '__pycache__', 'node_modules'])

interface Written {
  name: Buffer
  crc: number
  packedBytes: number
  bytes: number
  offset: number
}

/** `within`: links may lead to files below this folder, in place of the package's own. */
export async function zipFolder(folder: string, zipPath: string, within = folder): Promise<void> {
  const root = await realpath(folder)
  const names = await filesBelow(root, await realpath(within))
  const zip = await open(zipPath, 'w')
  try {
    const written: Written[] = []
    let offset = 0
    for (const name of names) {
      const entry = await writeFileEntry(zip, join(root, name), name, offset)
      written.push(entry)
      offset += 30 + entry.name.length + entry.packedBytes
      if (offset > ZIP_BYTES_MAX) throw new PackageError('The package is too large for a zip.')
    }
    await zip.write(centralDirectory(written, offset), 0, undefined, offset)
  } finally {
    await zip.close()
  }
}

/** Relative, in one order. */
async function filesBelow(root: string, within: string): Promise<string[]> {
  const found: string[] = []
  const walk = async (relative: string, depth: number) => {
    if (depth > 20) throw new PackageError(`${relative} is nested too deeply.`)
    for (const entry of (await readdir(join(root, relative))).sort()) {
      if (LEFT_OUT.has(entry)) continue
      const path = relative === '' ? entry : `${relative}/${entry}`
      const target = await realpath(join(root, path)).catch(() => null)
      if (target === null) continue // a link to nothing
      if (!target.startsWith(`${within}${sep}`)) throw new PackageError(`${path} is a link that leaves the package.`)
      const seen = await stat(target)
      if (seen.isDirectory()) await walk(path, depth + 1)
      else if (seen.isFile()) found.push(path)
      else throw new PackageError(`${path} is neither a file nor a folder.`)
      if (found.length > FILES_MAX) throw new PackageError(`The package has more than ${FILES_MAX} files.`)
    }
  }
  await walk('', 0)
  return found
}

async function writeFileEntry(zip: FileHandle, path: string, name: string, offset: number): Promise<Written> {
  const file = await open(path)
  try {
    if ((await file.stat()).size > FILE_BYTES_MAX) throw new PackageError(`${name} is too large.`)
    const bytes = await file.readFile()
    const packed = deflateRawSync(bytes)
    const entry = {
      name: Buffer.from(name),
      crc: crc32(bytes),
      packedBytes: packed.length,
      bytes: bytes.length,
      offset,
    }
    const header = Buffer.alloc(30)
    header.writeUInt32LE(LOCAL_HEADER, 0)
    writeCommon(header, entry, 4)
    await zip.writev([header, entry.name, packed], offset)
    return entry
  } finally {
    await file.close()
  }
}

/** The part that both headers of an entry have: 26 bytes from the version on. */
function writeCommon(header: Buffer, { crc, packedBytes, bytes, name }: Written, at: number): void {
  header.writeUInt16LE(VERSION, at)
  header.writeUInt16LE(UTF8_NAMES, at + 2)
  header.writeUInt16LE(DEFLATED, at + 4)
  header.writeUInt16LE(0, at + 6)
  header.writeUInt16LE(DOS_DATE, at + 8)
  header.writeUInt32LE(crc, at + 10)
  header.writeUInt32LE(packedBytes, at + 14)
  header.writeUInt32LE(bytes, at + 18)
  header.writeUInt16LE(name.length, at + 22)
}

function centralDirectory(entries: readonly Written[], offset: number): Buffer {
  const parts: Buffer[] = []
  for (const entry of entries) {
    const header = Buffer.alloc(46)
    header.writeUInt32LE(CENTRAL_HEADER, 0)
    header.writeUInt16LE(VERSION, 4)
    writeCommon(header, entry, 6)
    header.writeUInt32LE(entry.offset, 42)
    parts.push(header, entry.name)
  }
  const directory = Buffer.concat(parts)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(END_OF_CENTRAL, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([directory, end])
}

// The file of a backup: entries in frames, compressed with gzip.
//
//   archive = magic, entries, one entry of type "end"
//   entry   = frame with the head (JSON), frames with content, empty frame, frame with the tail (JSON: bytes and SHA-256 of the content)
//   frame   = length (4 bytes, big endian), bytes
//
// A file that was cut short has no "end"; a changed one fails its gzip checksum or the SHA-256 of an entry.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { pipeline } from 'node:stream/promises'
import type { Readable, Writable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { StartError } from '../start-error.ts'
import { codeOf } from '../values/error-code.ts'

const MAGIC = Buffer.from('REEVE BACKUP 1\n')
const FRAME_BYTES_MAX = 1024 * 1024
const GZIP = { level: 3 }

const Migration = Type.Object({ owner: Type.String(), name: Type.String(), sha256: Type.String() })
const Sequence = Type.Object({ name: Type.String(), value: Type.String() })
const Head = Type.Union([
  Type.Object({
    type: Type.Literal('about'),
    reeve: Type.String(),
    postgres: Type.String(),
    at: Type.String(),
    migrations: Type.Array(Migration),
  }),
  Type.Object({ type: Type.Literal('key'), name: Type.String() }),
  Type.Object({ type: Type.Literal('file'), name: Type.String() }),
  Type.Object({ type: Type.Literal('table'), name: Type.String(), columns: Type.Array(Type.String()) }),
  Type.Object({ type: Type.Literal('sequences'), sequences: Type.Array(Sequence) }),
  Type.Object({ type: Type.Literal('end'), entries: Type.Integer() }),
])
const Tail = Type.Object({ bytes: Type.Integer(), sha256: Type.String() })

export type EntryHead = Static<typeof Head>
export type EntryTail = Static<typeof Tail>

/** A file that cannot be used as a backup. */
export class BackupError extends StartError {
  override name = 'BackupError'
}

export interface ArchiveWriter {
  add(head: EntryHead, content?: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<EntryTail>
  /** Writes the last entry and resolves when everything has left. */
  end(): Promise<void>
  abort(error: unknown): void
}

export function writeArchive(sink: Writable): ArchiveWriter {
  const gzip = createGzip(GZIP)
  const sunk = pipeline(gzip, sink)
  sunk.catch(() => {}) // rejects `end`, or the write that waits
  let entries = 0

  const write = async (bytes: Buffer): Promise<void> => {
    if (!gzip.write(bytes)) await Promise.race([once(gzip, 'drain'), sunk])
  }
  const frame = async (bytes: Buffer): Promise<void> => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    await write(length)
    if (bytes.length > 0) await write(bytes)
  }
  const add: ArchiveWriter['add'] = async (head, content = []) => {
    const hash = createHash('sha256')
    let total = 0
    await frame(Buffer.from(JSON.stringify(head)))
    for await (const chunk of content) {
      for (let from = 0; from < chunk.length; from += FRAME_BYTES_MAX) {
        const part = chunk.subarray(from, from + FRAME_BYTES_MAX)
        hash.update(part)
        total += part.length
        await frame(part)
      }
    }
    const tail = { bytes: total, sha256: hash.digest('hex') }
    await frame(Buffer.alloc(0))
    await frame(Buffer.from(JSON.stringify(tail)))
    entries += 1
    return tail
  }
  gzip.write(MAGIC)

  return {
    add,
    async end() {
      await add({ type: 'end', entries })
      gzip.end()
      await sunk
    },
    abort: (error) => void gzip.destroy(error instanceof Error ? error : new Error(String(error))),
  }
}

export interface ArchiveEntry {
  head: EntryHead
  /** To be read to its end before the next entry. Throws where it does not match its checksum. */
  content: AsyncIterable<Buffer>
}

/** Throws a BackupError for a file that is not a whole backup; the last entry has then not been yielded. */
export async function* readArchive(source: Readable): AsyncGenerator<ArchiveEntry> {
  const reader = openReader(source.pipe(createGunzip()))
  source.on('error', (error) => reader.fail(error))
  if (!(await reader.take(MAGIC.length)).equals(MAGIC)) throw new BackupError('This file is not a backup of Reeve.')
  for (let entries = 0; ; entries += 1) {
    const head = parsed(Head, await reader.frame())
    if (head.type === 'end' && head.entries !== entries) throw new BackupError('The backup lacks entries.')
    yield { head, content: contentOf(reader) }
    if (head.type === 'end') return reader.end()
  }
}

/** The bytes of an entry that is not needed. */
export async function skip(content: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of content);
}

async function* contentOf(reader: Reader): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let total = 0
  for (;;) {
    const part = await reader.frame()
    if (part.length === 0) break
    hash.update(part)
    total += part.length
    yield part
  }
  const { bytes, sha256 } = parsed(Tail, await reader.frame())
  if (bytes !== total || sha256 !== hash.digest('hex')) throw new BackupError('The backup is damaged: wrong checksum.')
}

function parsed<S extends typeof Head | typeof Tail>(schema: S, bytes: Buffer): Static<S> {
  let value: unknown = null
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    // reported below
  }
  if (!Value.Check(schema, value)) throw new BackupError('The backup has an entry that this version does not know.')
  return value
}

interface Reader {
  take(count: number): Promise<Buffer>
  frame(): Promise<Buffer>
  /** Throws unless everything was read, and the checksum of the compression holds. */
  end(): Promise<void>
  fail(error: Error): void
}

function explained(error: unknown): never {
  const isCompression = error instanceof Error && (codeOf(error)?.startsWith('Z_') ?? false)
  throw isCompression ? new BackupError(`The backup is damaged or incomplete: ${error.message}.`) : error
}

function openReader(stream: Readable): Reader {
  const chunks = stream[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  const take = async (count: number): Promise<Buffer> => {
    const parts: Buffer[] = [rest]
    let available = rest.length
    while (available < count) {
      const next = await chunks.next().catch(explained)
      if (next.done === true) throw new BackupError('The backup is incomplete: the file ends too early.')
      const part = Buffer.from(next.value)
      parts.push(part)
      available += part.length
    }
    const all = parts.length === 1 ? rest : Buffer.concat(parts)
    rest = all.subarray(count)
    return all.subarray(0, count)
  }
  return {
    take,
    async frame() {
      const length = (await take(4)).readUInt32BE()
      if (length > FRAME_BYTES_MAX) throw new BackupError('The backup is damaged: an entry is too long.')
      return take(length)
    },
    async end() {
      const next = await chunks.next().catch(explained)
      if (rest.length > 0 || next.done !== true)
        throw new BackupError('The backup is damaged: it goes on after its end.')
    },
    fail: (error) => void stream.destroy(error),
  }
}

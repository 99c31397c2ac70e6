// How much memory a program has from the start, touched or not: the writable parts of an ELF file, zeroed data included. A
// program whose arrays alone are over the limit is refused for that, whatever the kernel would have made of it. Synchronous: it was
// compiled a moment ago or is about to be run, and four trips through the thread pool take ten times as long as the calls.
import { closeSync, constants, openSync, readSync } from 'node:fs'

const HEADER_BYTES = 64
const PARTS_MAX = 64
const PART_BYTES = 56
const LOADED = 1
const WRITABLE = 2

/** 0 for what cannot be read or is no 64-bit, little-endian ELF file. */
export function staticBytes(path: string): number {
  let file: number | null = null
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) // a named pipe must not hold up this thread
    return bytesOf(file)
  } catch {
    return 0 // starting it will fail
  } finally {
    if (file !== null) closeSync(file)
  }
}

function bytesOf(file: number): number {
  const header = Buffer.alloc(HEADER_BYTES)
  readSync(file, header, 0, HEADER_BYTES, 0)
  if (header.readUInt32BE(0) !== 0x7f454c46 || header[4] !== 2 || header[5] !== 1) return 0
  const count = header.readUInt16LE(56)
  if (count > PARTS_MAX || header.readUInt16LE(54) !== PART_BYTES) return 0

  const parts = Buffer.alloc(count * PART_BYTES)
  readSync(file, parts, 0, parts.length, Number(header.readBigUInt64LE(32)))
  let bytes = 0
  for (let at = 0; at < parts.length; at += PART_BYTES) {
    const isCounted = parts.readUInt32LE(at) === LOADED && (parts.readUInt32LE(at + 4) & WRITABLE) !== 0
    if (isCounted) bytes += Number(parts.readBigUInt64LE(at + 40))
  }
  return Math.min(bytes, Number.MAX_SAFE_INTEGER)
}

// How much memory a program has from the start, touched or not: the writable parts of an ELF file, zeroed data included. A
// program whose arrays alone are over the limit is refused for that, whatever the kernel would have made of it.
import { open } from 'node:fs/promises'

const HEADER_BYTES = 64
const PARTS_MAX = 64
const PART_BYTES = 56
const LOADED = 1
const WRITABLE = 2

/** 0 for what is not there or is no 64-bit, little-endian ELF file. */
export async function staticBytes(path: string): Promise<number> {
  const file = await open(path).catch(() => null)
  if (file === null) return 0
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    await file.read(header, 0, HEADER_BYTES, 0)
    if (header.readUInt32BE(0) !== 0x7f454c46 || header[4] !== 2 || header[5] !== 1) return 0
    const count = header.readUInt16LE(56)
    if (count > PARTS_MAX || header.readUInt16LE(54) !== PART_BYTES) return 0

    const parts = Buffer.alloc(count * PART_BYTES)
    await file.read(parts, 0, parts.length, Number(header.readBigUInt64LE(32)))
    let bytes = 0
    for (let at = 0; at < parts.length; at += PART_BYTES) {
      const isCounted = parts.readUInt32LE(at) === LOADED && (parts.readUInt32LE(at + 4) & WRITABLE) !== 0
      if (isCounted) bytes += Number(parts.readBigUInt64LE(at + 40))
    }
    return Math.min(bytes, Number.MAX_SAFE_INTEGER)
  } finally {
    await file.close()
  }
}

// Zips made by hand, so that they can be wrong in any way. Nothing here is shared with the code that reads or writes packages.
import { crc32, deflateRawSync } from 'node:zlib'

export interface ZipEntry {
  name: string
  content?: string | Buffer
  /** As Unix has it: 0o120777 is a link. */
  mode?: number
  /** In place of the real size, in both headers. */
  claimedBytes?: number
  isEncrypted?: boolean
}

export function zipOf(entries: readonly ZipEntry[]): Buffer<ArrayBuffer> {
  const parts: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const { name, content = '', mode, claimedBytes, isEncrypted = false } of entries) {
    const bytes = Buffer.from(content)
    const packed = deflateRawSync(bytes)
    const path = Buffer.from(name)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(0x0800 | (isEncrypted ? 1 : 0), 2)
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(crc32(bytes), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(claimedBytes ?? bytes.length, 18)
    common.writeUInt16LE(path.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, path, packed])

    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(((mode ?? 0) << 16) >>> 0, 6)
    tail.writeUInt32LE(offset, 10)
    const madeBy = Buffer.from([20, mode === undefined ? 0 : 3])
    central.push(Buffer.concat([Buffer.from('PK\x01\x02'), madeBy, common, tail, path]))
    parts.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(entries.length, 4)
  end.writeUInt16LE(entries.length, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...parts, directory, Buffer.from('PK\x05\x06'), end])
}

/** The least that is a problem: double a number. */
export const packageFiles = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  'problem.yaml': 'name: Twice\nlimits:\n  time_limit: 1\n  memory: 256\n',
  'data/sample/1.in': '21\n',
  'data/sample/1.ans': '42\n',
  'data/secret/1.in': '1\n',
  'data/secret/1.ans': '2\n',
  'data/secret/2.in': '500\n',
  'data/secret/2.ans': '1000\n',
  ...more,
})

export const packageOf = (files: Readonly<Record<string, string>> = packageFiles()): Buffer<ArrayBuffer> =>
  zipOf(Object.entries(files).map(([name, content]) => ({ name, content })))

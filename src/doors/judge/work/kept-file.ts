// A file that runs write and this process reads, held open between them: opening it again for every test would cost more
// than comparing it.
import { open } from 'node:fs/promises'

const READABLE = 0o644 // for a validator, which runs as somebody else

export interface KeptFile {
  path: string
  /** Its beginning. */
  read(bytesMax: number): Promise<Buffer>
  empty(): Promise<void>
  close(): Promise<void>
}

export async function keepFile(path: string): Promise<KeptFile> {
  const file = await open(path, 'w+')
  await file.chmod(READABLE)
  return {
    path,
    async read(bytesMax) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(bytesMax), 0, bytesMax, 0)
      return buffer.subarray(0, bytesRead)
    },
    empty: () => file.truncate(0),
    close: () => file.close(),
  }
}

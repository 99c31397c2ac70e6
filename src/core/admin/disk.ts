import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'

export interface Disk {
  freeBytes: number
  totalBytes: number
}

/**
 * The disk with the data folder. With a database and a file store elsewhere there may be no such folder: then that of the
 * working folder. Null: the file system does not say.
 */
export async function diskOf(dataDir: string): Promise<Disk | null> {
  const { bavail, blocks, bsize } = await statfs(existsSync(dataDir) ? dataDir : '.')
  return blocks === 0 ? null : { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

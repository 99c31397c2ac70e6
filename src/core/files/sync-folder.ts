import { open } from 'node:fs/promises'

/** Puts the names in a folder on disk, such as that of a file that was moved there. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

// Programs in a box run as another user, and this process's umask may hide its files from others. What a box shows is made
// readable, file by file; the folders above keep their modes. A change of mode takes microseconds, less than the thread pool, and a folder
// of many files is left to others between the folders in it.
import { chmodSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

const READABLE = 0o644
const ENTERED = 0o755

/** Before anything runs there: what a program leaves in its folder has the modes that it chose. */
export async function showToBoxes(folder: string): Promise<void> {
  chmodSync(folder, ENTERED)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await showToBoxes(path)
    else if (entry.isFile()) chmodSync(path, READABLE)
  }
}

// Programs in a box run as another user, and this process's umask may hide its files from others. What a box shows is made
// readable, file by file; the folders above keep their modes.
import { chmod, readdir } from 'node:fs/promises'
import { join } from 'node:path'

const READABLE = 0o644
const ENTERED = 0o755

/** Before anything runs there: what a program leaves in its folder has the modes that it chose. */
export async function showToBoxes(folder: string): Promise<void> {
  await chmod(folder, ENTERED)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await showToBoxes(path)
    else if (entry.isFile()) await chmod(path, READABLE)
  }
}

// A disk whose flushes take longer, for a server that loads this library first. Needs a C compiler (Debian: gcc).
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const SOURCE = fileURLToPath(new URL('slow-disk.c', import.meta.url))

export async function compileSlowDisk(folder: string, flushMs: number): Promise<string> {
  const library = join(folder, 'slow-disk.so')
  await promisify(execFile)('cc', [
    '-O2',
    '-D_GNU_SOURCE',
    '-shared',
    '-fPIC',
    `-DFLUSH_MS=${flushMs}`,
    '-o',
    library,
    SOURCE,
  ])
  return library
}

// Small files of a package, read with a limit: a package is an untrusted upload.
import { open, readdir } from 'node:fs/promises'
import { PackageError } from './package.ts'

const TEXT_BYTES_MAX = 1024 * 1024

/** Null: there is no such file. */
export async function readSmallText(path: string, bytesMax = TEXT_BYTES_MAX): Promise<string | null> {
  const handle = await open(path).catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  if (handle === null) return null
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) return null
    if (stat.size > bytesMax) throw new PackageError(`${path.split('/').at(-1)} is larger than ${bytesMax} bytes.`)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

/** Null: there is no such folder. Hidden files are left out. */
export async function listFolder(path: string): Promise<{ files: string[]; folders: string[] } | null> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  if (entries === null) return null
  const shown = entries.filter((entry) => !entry.name.startsWith('.')).sort((a, b) => (a.name < b.name ? -1 : 1))
  return {
    files: shown.filter((entry) => entry.isFile()).map((entry) => entry.name),
    folders: shown.filter((entry) => entry.isDirectory()).map((entry) => entry.name),
  }
}

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')

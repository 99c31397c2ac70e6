// The packages below a folder: a collection of problems, as contests publish it.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { listFolder } from '../package/files.ts'

const DEPTH_MAX = 8

export interface FoundPackage {
  /** A folder with problem.yaml, or a zip. */
  path: string
  /** Links of the package may lead to files below this folder. Null: it is a zip. */
  root: string | null
}

/** In one order. A folder with problem.yaml is a package; folders inside it are not searched. Null: there is no such path. */
export async function findPackages(path: string): Promise<FoundPackage[] | null> {
  const seen = await stat(path).catch(() => null)
  if (seen === null) return null
  if (seen.isFile()) return [{ path, root: null }]
  const found: FoundPackage[] = []
  const walk = async (folder: string, depth: number) => {
    const { files, folders } = (await listFolder(folder)) ?? { files: [], folders: [] }
    if (files.includes('problem.yaml')) found.push({ path: folder, root: path })
    else if (depth < DEPTH_MAX) for (const name of folders) await walk(join(folder, name), depth + 1)
  }
  await walk(path, 0)
  return found
}

// The path from the folder to a key, step by step: symbolic links are refused, since they might lead out of the folder.

import { lstat, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Stats } from 'node:fs'
import { FileStoreError } from './file-store.ts'

export interface FoundFile {
  path: string
  bytes: number
}

/** The key's file, reached through real folders only. */
export async function findFile(root: string, key: string): Promise<FoundFile | null> {
  const cut = key.lastIndexOf('/') + 1
  const folder = await findFolder(root, key.slice(0, cut))
  if (folder === null) return null
  const path = join(folder, key.slice(cut))
  const seen = await look(path)
  return seen?.isFile() ? { path, bytes: seen.size } : null
}

/** The folder of `base` ("" or "a/b/"), reached through real folders only. */
export async function findFolder(root: string, base: string): Promise<string | null> {
  const steps = stepsTo(root, base)
  for (const step of steps) if (!(await look(step))?.isDirectory()) return null
  return steps.at(-1) ?? root
}

/** Makes the key's folder. Not `recursive`, which would go through links. */
export async function makeFolder(root: string, key: string): Promise<void> {
  for (const step of stepsTo(root, key)) {
    await mkdir(step, { mode: 0o700 }).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error
    })
    const seen = await look(step)
    if (seen !== null && !seen.isDirectory())
      throw new FileStoreError(`${step} is on the path of a key but is not a folder.`)
  }
}

/**
 * Forces the key's name to disk, and the names of the folders on its way: another put may have made them a moment ago
 * and not yet have forced them itself.
 */
export async function syncFolders(root: string, key: string): Promise<void> {
  for (const step of [root, ...stepsTo(root, key)]) {
    try {
      const folder = await open(step)
      await folder.sync().finally(() => folder.close())
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error // deleted since: there is no name to keep
    }
  }
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
}

/** The folders on the way to a key: root/a and root/a/b for "a/b/c" and for "a/b/". */
function stepsTo(root: string, key: string): string[] {
  const names = key.split('/').slice(0, -1)
  return names.map((_name, index) => join(root, ...names.slice(0, index + 1)))
}

async function look(path: string): Promise<Stats | null> {
  try {
    return await lstat(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null
    throw error
  }
}

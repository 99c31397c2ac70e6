// Keys are paths below the folder. Content is written beside them under a name that no key can have, forced to disk, and
// renamed; so a crash leaves at most a temporary file, which the next start removes.

import { newJobId } from '../random.ts'
import { constants, createWriteStream, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { open, readdir, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { systemClock, type Clock } from '../clock.ts'
import { assertKey, assertKeyPrefix, isKey } from './file-key.ts'
import { FileStoreError, type FileStore, type PutOptions, type StoredFile } from './file-store.ts'
import { findFile, findFolder, hasCode, makeFolder, syncFolders } from './folder-path.ts'
import { metered } from './meter.ts'

const TEMP = '~tmp' // "~" is in no key
const TEMP_AGE_MS_MAX = 24 * 60 * 60 * 1000 // no upload that is still running is older
const PLACE_TRIES_MAX = 5

/** Files in a folder of this machine. Throws one clear sentence when the folder cannot be made. */
export function openFolderStore(dir: string, clock: Clock = systemClock): FileStore {
  const root = resolve(dir)
  try {
    mkdirSync(join(root, TEMP), { recursive: true, mode: 0o700 })
    removeOldTemps(join(root, TEMP), clock)
  } catch (error) {
    throw unusable(root, error)
  }
  return {
    put: (key, content, options) => put(root, key, content, options),
    get: (key) => get(root, key),
    stat: async (key) => {
      assertKey(key)
      const file = await findFile(root, key)
      return file && { bytes: file.bytes }
    },
    list: (prefix) => list(root, prefix),
    delete: (key) => remove(root, key),
    check: () => check(root),
  }
}

function removeOldTemps(temps: string, clock: Clock): void {
  for (const name of readdirSync(temps)) {
    const path = join(temps, name)
    const writtenAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity // gone: its upload ended
    if (clock.now() - writtenAt > TEMP_AGE_MS_MAX) rmSync(path, { force: true })
  }
}

async function put(root: string, key: string, content: Readable | Buffer, options?: PutOptions): Promise<StoredFile> {
  assertKey(key)
  const temp = join(root, TEMP, newJobId())
  const meter = metered(content, options?.bytesMax)

  try {
    // `flush` forces the content to disk before the file is closed: the name must not survive a power cut alone.
    await pipeline(meter, createWriteStream(temp, { flags: 'wx', flush: true, mode: 0o600 }))
    await place(root, temp, key)
  } catch (error) {
    await rm(temp, { force: true })
    throw error
  }
  return meter.total()
}

/** Gives the written file its name, which is what makes the key visible. */
async function place(root: string, temp: string, key: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await makeFolder(root, key)
      await rename(temp, join(root, key))
      return await syncFolders(root, key)
    } catch (error) {
      // A delete may remove the emptied folder between its making and the rename.
      if (!hasCode(error, 'ENOENT') || tries === PLACE_TRIES_MAX) throw error
    }
  }
}

async function get(root: string, key: string): Promise<Readable | null> {
  assertKey(key)
  const file = await findFile(root, key)
  if (file === null) return null
  try {
    const handle = await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW)
    return handle.createReadStream()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null // deleted since it was found
    throw error
  }
}

async function* list(root: string, prefix: string): AsyncGenerator<string> {
  assertKeyPrefix(prefix)
  const base = prefix.slice(0, prefix.lastIndexOf('/') + 1)
  const folder = await findFolder(root, base)
  if (folder !== null) yield* walk(folder, base, prefix)
}

async function* walk(folder: string, base: string, prefix: string): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [] // emptied and removed since it was found
    throw error
  })
  // With its slash a folder sorts as its keys do, so the walk is in key order, like S3's. Links are neither kind.
  const names = entries
    .filter((entry) => isKey(entry.name) && (entry.isFile() || entry.isDirectory()))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => `${base}${name}`.startsWith(prefix))
  for (const name of names.sort()) {
    if (name.endsWith('/')) yield* walk(join(folder, name), base + name, prefix)
    else yield base + name
  }
}

async function remove(root: string, key: string): Promise<void> {
  assertKey(key)
  const file = await findFile(root, key)
  if (file === null) return
  try {
    await unlink(file.path)
    for (let folder = dirname(file.path); folder !== root; folder = dirname(folder)) await rmdir(folder)
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error // someone else's delete, or keys that remain
  }
}

async function check(root: string): Promise<void> {
  const probe = join(root, TEMP, newJobId())
  try {
    await writeFile(probe, 'probe', { flag: 'wx', flush: true })
    await rm(probe)
  } catch (error) {
    throw unusable(root, error)
  }
}

function unusable(root: string, error: unknown): FileStoreError {
  const reason = error instanceof Error ? error.message : String(error)
  return new FileStoreError(`The file folder ${root} cannot be written: ${reason}.`, { cause: error })
}

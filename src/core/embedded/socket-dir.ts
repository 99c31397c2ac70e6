// A Unix socket's path is limited to 108 bytes on Linux and 104 on macOS. A data folder may lie deeper than that; its
// socket then lies in a private folder with a short name, derived from the data folder so that it is found again.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmod, chown, lstat, mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { codeOf } from '../values/error-code.ts'
import type { Owner } from './ownership.ts'
import { StartError } from '../start-error.ts'

export const PORT = 5432 // only names the socket's file
const SOCKET = `.s.PGSQL.${PORT}`
const SOCKET_PATH_BYTES_MAX = 103
const HASH_LENGTH = 16

/** Creates the folder of the socket, readable by its owner alone: whoever can enter it may use the database. */
export async function makeSocketDir(dataDir: string, owner: Owner): Promise<string> {
  const folder = chooseFolder(dataDir)
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error
  })

  if (dirname(folder) !== dataDir) await assertOurs(folder, owner)
  await chown(folder, owner.uid, owner.gid)
  await chmod(folder, 0o700)
  return folder
}

/** Called while no server runs. */
export async function removeSocket(folder: string): Promise<void> {
  for (const name of [SOCKET, `${SOCKET}.lock`]) await rm(join(folder, name), { force: true })
}

function chooseFolder(dataDir: string): string {
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, HASH_LENGTH)
  const candidates = [join(dataDir, 'run'), join(tmpdir(), `reeve-${hash}`), join('/tmp', `reeve-${hash}`)]
  const bytes = (folder: string) => Buffer.byteLength(join(folder, SOCKET))
  const folder = candidates.find((candidate) => bytes(candidate) <= SOCKET_PATH_BYTES_MAX)
  assert(folder !== undefined)
  return folder
}

/** The name in a shared temporary folder can be guessed: another user may have made it first. */
async function assertOurs(folder: string, owner: Owner): Promise<void> {
  const found = await lstat(folder)
  if (found.isDirectory() && (found.uid === process.getuid?.() || found.uid === owner.uid)) return
  throw new StartError(`The folder ${folder}, meant for the database's socket, belongs to another user: remove it.`)
}

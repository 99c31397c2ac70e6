// Whose files the cluster is made of. It only matters to root, who runs the server as somebody else.
import { chmod, chown, lchown, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../values/error-code.ts'

const EXECUTE_OTHERS = 0o001
const EXECUTE_GROUP = 0o010

export interface Owner {
  uid: number
  gid: number
}

/** Null if there is no such folder. */
export async function ownerOf(folder: string): Promise<Owner | null> {
  try {
    const { uid, gid } = await stat(folder)
    return { uid, gid }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** Gives a cluster to its new owner. The folder itself comes last, so that an interrupted change is taken up again. */
export async function giveTree(folder: string, owner: Owner): Promise<void> {
  if ((await ownerOf(folder))?.uid === owner.uid) return
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await giveTree(path, owner)
    else await lchown(path, owner.uid, owner.gid)
  }
  await chown(folder, owner.uid, owner.gid)
}

/** Lets the cluster's owner traverse root's folder, and nobody else who could not before. */
export async function letThrough(folder: string, owner: Owner): Promise<void> {
  const { uid, mode } = await stat(folder)
  if (uid !== 0 || owner.uid === 0 || (mode & EXECUTE_OTHERS) !== 0) return
  await chown(folder, uid, owner.gid)
  await chmod(folder, (mode & 0o777) | EXECUTE_GROUP)
}

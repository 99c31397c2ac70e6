// Removes what a program made in a box. It may have hidden it: in a folder that nobody may enter, where it has Reeve's own user, or below a path
// that is longer than the kernel takes. `chmod` and `rm` walk from folder to folder and know neither hindrance.
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { codeOf } from '../../../core/values/error-code.ts'

const HIDDEN = new Set(['EACCES', 'EPERM', 'ENAMETOOLONG'])
const run = promisify(execFile)

/** One that is not there is no error. */
export async function removeTree(path: string): Promise<void> {
  try {
    return await rm(path, { recursive: true, force: true })
  } catch (error) {
    if (!HIDDEN.has(codeOf(error) ?? '')) throw error
  }
  await run('chmod', ['-R', 'u+rwx', '--', path]).catch(() => {}) // what that could not open, `rm` names
  await run('rm', ['-rf', '--', path])
}

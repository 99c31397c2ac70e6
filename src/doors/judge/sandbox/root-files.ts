// The file system of a box, all of it read-only: a folder on this machine with a place for everything that is mounted into it, and
// what of the host is shown. /work, /tmp and /proc are the helper's.
import { chmod, lstat, mkdir, readlink, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../../../core/embedded/error-code.ts'
import type { Mount } from './box.ts'

const SHOWN = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/localtime',
]
const DEVICES = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom']
const OWN = ['/work', '/tmp', '/proc']

const LINKS: readonly (readonly [from: string, to: string])[] = [
  ['/dev/fd', '/proc/self/fd'],
  ['/dev/stdin', '/proc/self/fd/0'],
  ['/dev/stdout', '/proc/self/fd/1'],
  ['/dev/stderr', '/proc/self/fd/2'],
  ['/dev/shm', '/tmp'],
]

/** The host's own list of users is none of a program's business, and some libraries want to find the user's name. */
const FILES = [
  ['/etc/passwd', 'nobody:x:65534:65534:nobody:/tmp:/bin/sh\n'],
  ['/etc/group', 'nogroup:x:65534:\n'],
] as const

export interface RootFiles {
  /** As the helper takes them: the root, and what every box has. */
  mounts: readonly string[]
  /** Makes a place for what one box has besides. */
  place(mount: Mount): Promise<void>
}

/** Looks once at what this machine has. Several processes may do so in the same folder. */
export async function prepareRoot(folder: string): Promise<RootFiles> {
  const root = join(folder, 'root')
  const placed = new Set<string>()
  const place = async ({ from, to }: Mount) => {
    if (placed.has(to)) return
    const found = await stat(from).catch(() => null)
    if (found === null) return // which the helper will say
    await makeFolder(root, found.isDirectory() ? to : dirname(to))
    if (!found.isDirectory()) await makeFile(root, to, '')
    placed.add(to)
  }

  const mounts = ['read-only', root, '/']
  for (const path of OWN) await makeFolder(root, path)
  for (const [path, text] of FILES) {
    await makeFolder(root, dirname(path))
    await makeFile(root, path, text)
  }
  for (const path of SHOWN) {
    const found = await lstat(path).catch(() => null)
    if (found?.isSymbolicLink() === true) await makeLink(root, path, await readlink(path))
    else if (found !== null) {
      await place({ from: path, to: path })
      mounts.push('read-only', path, path)
    }
  }
  for (const path of DEVICES) {
    await place({ from: path, to: path })
    mounts.push('device', path, path)
  }
  for (const [path, to] of LINKS) await makeLink(root, path, to)
  return { mounts, place }
}

/** Whatever the umask: programs read it. */
async function makeFolder(root: string, path: string): Promise<void> {
  let made = root
  for (const name of path.split('/')) {
    made = join(made, name)
    await mkdir(made, { recursive: true })
    await chmod(made, 0o755)
  }
}

async function makeFile(root: string, path: string, text: string): Promise<void> {
  await writeFile(root + path, text)
  await chmod(root + path, 0o644)
}

async function makeLink(root: string, path: string, to: string): Promise<void> {
  await makeFolder(root, dirname(path))
  await symlink(to, root + path).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error
  })
}

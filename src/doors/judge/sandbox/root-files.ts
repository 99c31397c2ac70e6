// The file system of a box, all of it read-only: a folder on this machine with a place for everything that is mounted into it, and
// what of the host is shown. /work, /tmp and /proc are the helper's.
import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, readlink, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../../../core/values/error-code.ts'
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

/** Hides the host's users; some libraries need to find the user's name. */
const FILES = [
  ['/etc/passwd', 'nobody:x:65534:65534:nobody:/tmp:/bin/sh\n'],
  ['/etc/group', 'nogroup:x:65534:\n'],
] as const

export interface RootFiles {
  /** As the helper takes them: a root with a place for these, what every box has, and these. */
  mountsFor(shown: readonly Mount[]): Promise<readonly string[]>
}

/** Reads once what this machine has. Several processes may use the same folder. */
export async function prepareRoot(folder: string): Promise<RootFiles> {
  const found = await lookAround()
  const made = new Map<string, Promise<string>>()
  /** Boxes with the same mounts share a root folder. A box has no mount point for paths that it does not show. */
  const rootFor = (shown: readonly Mount[]): Promise<string> => {
    const key = createHash('sha256')
      .update(JSON.stringify(shown.map(({ to }) => to)))
      .digest('hex')
    const root = made.get(key) ?? makeRoot(join(folder, `root-${key.slice(0, 16)}`), found, shown)
    made.set(key, root)
    root.catch(() => made.delete(key))
    return root
  }
  return {
    async mountsFor(shown) {
      return [
        ...[{ from: await rootFor(shown), to: '/' }, ...found.folders, ...shown].flatMap(({ from, to }) => [
          'read-only',
          from,
          to,
        ]),
        ...DEVICES.flatMap((path) => ['device', path, path]),
      ]
    },
  }
}

interface HostPaths {
  folders: readonly Mount[]
  links: readonly (readonly [from: string, to: string])[]
}

async function lookAround(): Promise<HostPaths> {
  const folders: Mount[] = []
  const links = [...LINKS]
  for (const path of SHOWN) {
    const found = await lstat(path).catch(() => null)
    if (found?.isSymbolicLink() === true) links.push([path, await readlink(path)])
    else if (found !== null) folders.push({ from: path, to: path })
  }
  return { folders, links }
}

async function makeRoot(root: string, { folders, links }: HostPaths, shown: readonly Mount[]): Promise<string> {
  for (const path of OWN) await makeFolder(root, path)
  for (const [path, text] of FILES) await makeFile(root, path, text)
  for (const path of DEVICES) await makeFile(root, path, '')
  for (const { from, to } of [...folders, ...shown]) {
    const found = await stat(from).catch(() => null) // the helper says what is missing
    if (found?.isDirectory() === true) await makeFolder(root, to)
    else if (found !== null) await makeFile(root, to, '')
  }
  for (const [path, to] of links) await makeLink(root, path, to)
  return root
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
  await makeFolder(root, dirname(path))
  await writeFile(root + path, text)
  await chmod(root + path, 0o644)
}

async function makeLink(root: string, path: string, to: string): Promise<void> {
  await makeFolder(root, dirname(path))
  await symlink(to, root + path).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error
  })
}

// The file system of a box: what of the host is shown in it, all of it read-only. /work, /tmp and /proc are the helper's.
import { lstat, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

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

const LINKS = [
  ['/proc/self/fd', '/dev/fd'],
  ['/proc/self/fd/0', '/dev/stdin'],
  ['/proc/self/fd/1', '/dev/stdout'],
  ['/proc/self/fd/2', '/dev/stderr'],
  ['/tmp', '/dev/shm'],
].flat()

/** The host's own list of users is none of a program's business, and some libraries want to find the user's name. */
const PASSWD = 'nobody:x:65534:65534:nobody:/tmp:/bin/sh\n'
const GROUP = 'nogroup:x:65534:\n'

export interface RootFiles {
  /** Pairs: the path on the host, the path in the box. */
  read_only: readonly string[]
  devices: readonly string[]
  /** Pairs: where the link leads, the link. */
  links: readonly string[]
}

/** Looks once at what this machine has. */
export async function describeRoot(folder: string): Promise<RootFiles> {
  const readOnly: string[] = []
  const links = [...LINKS]
  for (const path of SHOWN) {
    const found = await lstat(path).catch(() => null)
    if (found?.isSymbolicLink() === true) links.push(await readlink(path), path)
    else if (found !== null) readOnly.push(path, path)
  }
  for (const [name, text] of [
    ['passwd', PASSWD],
    ['group', GROUP],
  ] as const) {
    await writeFile(join(folder, name), text)
    readOnly.push(join(folder, name), `/etc/${name}`)
  }
  return { read_only: readOnly, devices: DEVICES, links }
}

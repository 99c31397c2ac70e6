// Where runs are counted. Below a base (`reeve` at the hierarchy's root, the own cgroup where that was delegated, or SANDBOX_CGROUP)
// each helper has a folder `helper-<pid namespace>-<pid>-<start>-<thread>-<number>`, named after the Reeve process that made it. The helper
// removes it when it ends; what a killed one has left is removed by its Reeve process, or by the next one to start.
import { readlinkSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../../../core/values/error-code.ts'

const V1_CONTROLLERS = ['memory', 'cpuacct', 'pids'] as const
const CONTROLLERS = '+memory +pids'
/** Where processes are put that stand in the way. */
const LEAF = 'reeve-main'
const OWN_LEAF = /(^|\/)reeve-main$/
const MAKE_TRIES = 10
const REMOVE_TRIES = 1000
const REMOVE_WAIT_MS = 5

export interface Hierarchy {
  version: 1 | 2
  /** Where it is mounted and, below that, the base: one pair, or with version 1 one for each controller. */
  trees: readonly { mount: string; base: string }[]
}

export interface HelperFolders {
  /** The helper's arguments. */
  args: readonly string[]
  /** Kills what is inside and removes it. Idempotent. */
  remove(): Promise<void>
}

export interface Cgroups {
  version: 1 | 2
  newHelper(): Promise<HelperFolders>
}

/** Reads /proc/self/mountinfo and /proc/self/cgroup. A string says what is missing. */
export function findHierarchy(
  mountinfo: string,
  membership: string,
  options: { base: string; isRoot: boolean },
): Hierarchy | string {
  const mounts = mountinfo.split('\n').flatMap(parseMount)
  const mountOf = (controller: string) =>
    mounts.find(({ type, options }) => type === 'cgroup' && options.includes(controller))
  const named = options.base.replace(/^\/+|\/{1,20}$/g, '')

  if (mountOf('memory') !== undefined) {
    const missing = V1_CONTROLLERS.find((controller) => mountOf(controller) === undefined)
    if (missing !== undefined) return `the cgroup v1 controller ${missing} is not mounted`
    return {
      version: 1,
      trees: V1_CONTROLLERS.map((controller) => ({ mount: mountOf(controller)?.point ?? '', base: named || 'reeve' })),
    }
  }
  const unified = mounts.find(({ type }) => type === 'cgroup2')
  if (unified === undefined) return 'no cgroup hierarchy is mounted'
  if (named !== '' || options.isRoot) return { version: 2, trees: [{ mount: unified.point, base: named || 'reeve' }] }
  const own = /^0::(.*)$/m.exec(membership)?.[1] ?? '/'
  const base = unified.root !== '/' && own.startsWith(unified.root) ? own.slice(unified.root.length) : own
  return { version: 2, trees: [{ mount: unified.point, base: base.replace(/^\/+/, '').replace(OWN_LEAF, '') }] }
}

/** By this thread, for all of its sandboxes: a folder's name is unique. */
let foldersMade = 0

/** Makes the base, sweeps what dead processes have left, and tries. Rejects with the system's error, which names call and path. */
export async function openCgroups(hierarchy: Hierarchy): Promise<Cgroups> {
  const { version, trees } = hierarchy
  // One that was there may be removed under our hands by another process that ends: then the helper below makes it again.
  for (const tree of trees) await makeBase(version, tree).catch(ignoreMissing)
  for (const { mount, base } of trees.toReversed()) await sweep(join(mount, base))

  const newHelper = () => {
    foldersMade += 1
    return makeFolders(hierarchy, `helper-${identity(process.pid)}-${threadId}-${foldersMade}`)
  }
  await (await newHelper()).remove() // the base may be there and somebody else's
  return { version, newHelper }
}

async function makeFolders({ version, trees }: Hierarchy, name: string): Promise<HelperFolders> {
  const folders = trees.map(({ mount, base }) => join(mount, base, name))
  for (const [index, tree] of trees.entries()) {
    for (let tries = 0; ; tries += 1) {
      const error = await mkdir(folders[index] ?? '').then(
        () => null,
        (error: unknown) => error,
      )
      if (error === null) break
      if (codeOf(error) !== 'ENOENT' || tries === MAKE_TRIES) throw error
      await makeBase(version, tree).catch(ignoreMissing) // another process has removed the empty base
    }
  }
  if (version === 2) await makeBoxLeaf(folders[0] ?? '')
  const remove = async () => {
    for (const folder of folders.toReversed()) await removeFolders(folder)
    for (const { mount, base } of trees) await rmdir(join(mount, base)).catch(() => {}) // unless it is still of use
  }
  return { args: [String(version), ...folders], remove }
}

/** Version 2 only: a cgroup with controllers for its children holds no processes, so the first processes of boxes get a leaf. */
async function makeBoxLeaf(folder: string): Promise<void> {
  await writeFile(join(folder, 'cgroup.subtree_control'), CONTROLLERS)
  await mkdir(join(folder, 'box'))
}

interface MountInfo {
  root: string
  point: string
  type: string
  options: readonly string[]
}

function parseMount(line: string): MountInfo[] {
  const [left = '', right] = line.split(' - ')
  if (right === undefined) return []
  const [, , , root = '', point = ''] = left.split(' ')
  const [type = '', , options = ''] = right.split(' ')
  return [{ root: unescape(root), point: unescape(point), type, options: options.split(',') }]
}

const unescape = (path: string) =>
  path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)))

/** Version 2 enables controllers level by level, from the top. */
async function makeBase(version: 1 | 2, { mount, base }: { mount: string; base: string }): Promise<void> {
  let folder = mount
  for (const part of base.split('/').filter((part) => part !== '')) {
    const child = join(folder, part)
    await mkdir(child, { recursive: true })
    if (version === 2) await lendTo(child, folder)
    folder = child
  }
  if (version !== 2) return
  await handDown(folder)
  await handDownCpu(folder)
}

async function lendTo(child: string, parent: string): Promise<void> {
  const list = await readFile(join(child, 'cgroup.controllers'), 'utf8')
  if (!hasControllers(list)) await handDown(parent)
  if (!/\bcpu\b/.test(list)) await handDownCpu(parent)
}

/** For weights. Not every system lends it, and limits do not depend on it. */
const handDownCpu = (folder: string): Promise<void> =>
  writeFile(join(folder, 'cgroup.subtree_control'), '+cpu').catch(() => {})

const hasControllers = (list: string) =>
  ['memory', 'pids'].every((controller) => list.split(/\s+/).includes(controller))

/** A cgroup hands its controllers down only while no process is in it: those that are move to a leaf. */
async function handDown(folder: string): Promise<void> {
  const control = join(folder, 'cgroup.subtree_control')
  if (hasControllers(await readFile(control, 'utf8'))) return
  const enable = () => writeFile(control, CONTROLLERS)
  try {
    return await enable()
  } catch (error) {
    if (codeOf(error) !== 'EBUSY') throw error
  }
  const leaf = join(folder, LEAF)
  await mkdir(leaf, { recursive: true })
  for (const pid of await membersOf(folder)) await writeFile(join(leaf, 'cgroup.procs'), pid).catch(() => {}) // it may have ended
  await enable()
}

/** Removes folders of dead processes. Only of this pid namespace: processes of others are not visible. */
async function sweep(base: string): Promise<void> {
  for (const name of await readdir(base).catch(() => [])) {
    const [, owner, pid] = /^helper-((?:\d+)-(\d+)-(?:\d+))-\d+-\d+$/.exec(name) ?? []
    if (owner === undefined || !owner.startsWith(`${pidNamespace()}-`) || owner === identity(Number(pid))) continue
    await removeFolders(join(base, name))
  }
}

async function removeFolders(folder: string): Promise<void> {
  for (const path of [join(folder, 'run'), join(folder, 'box'), folder]) {
    for (let tries = 0; tries < REMOVE_TRIES; tries += 1) {
      const code = await rmdir(path).then(() => null, codeOf)
      if (code !== 'EBUSY') break
      for (const pid of await membersOf(path)) kill(Number(pid))
      await sleep(REMOVE_WAIT_MS)
    }
  }
}

async function membersOf(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')
  return text.split('\n').filter((pid) => Number(pid) > 1)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error
}

const pidNamespace = () => readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')

/** A pid alone may come again; with the moment of its start it is one process. */
function identity(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    return `${pidNamespace()}-${pid}-${started}`
  } catch {
    return ''
  }
}

// A sandbox for tests: its helper built once per file, runners that are closed with the test, and a look at everything that a run could
// leave behind.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, type TestContext } from 'node:test'
import type { Box, BoxOptions, RunRequest, RunReport, BoxRunner } from '../../src/doors/judge/sandbox/box.ts'
import { findHierarchy, openCgroups } from '../../src/doors/judge/sandbox/cgroups.ts'
import { removeTree } from '../../src/doors/judge/sandbox/remove-tree.ts'
import { openSandbox, type Sandbox, type SandboxOptions } from '../../src/doors/judge/sandbox/sandbox.ts'
import { atEnd } from '../support/cleanup.ts'
import { withHelper } from '../support/judge-cache.ts'

export const MB = 1024 * 1024

/** How much longer than elsewhere a program takes: an emulated machine sets it. Limits of time in tests are multiplied by it. */
const slowness = Number(process.env['REEVE_TEST_SLOWNESS'] ?? 1)

/**
 * How the sandbox stands here, and with that which limits hold (docs/judge-sandbox.md, "What it needs").
 * root: all of them, and each helper has user ids of its own. delegated: a plain user with a cgroup: all of them, but what the kernel limits
 * per user is shared by all boxes. degraded: a plain user without one: CPU time and memory are limited per process.
 */
export type Footing = 'root' | 'delegated' | 'degraded'

const isRoot = process.getuid?.() === 0
/** Where runs are counted, or what is missing for it. */
export const hierarchy =
  process.platform === 'linux'
    ? findHierarchy(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'), {
        base: '',
        isRoot,
      })
    : 'the sandbox is for Linux'

export const footing: Footing = isRoot ? 'root' : (await canMakeCgroups()) ? 'delegated' : 'degraded'

async function canMakeCgroups(): Promise<boolean> {
  if (typeof hierarchy === 'string') return false
  return openCgroups(hierarchy).then(
    () => true,
    () => false,
  )
}

/** Why no box can be opened here, or false. As `skip` of a test or suite that knows what holds on each footing. */
export const noBoxes: string | false =
  process.platform !== 'linux'
    ? 'the sandbox is for Linux'
    : spawnSync('gcc', ['--version']).error !== undefined
      ? 'gcc is not installed'
      : !isRoot && spawnSync('unshare', ['--user', 'true']).status !== 0
        ? 'user namespaces are not allowed here'
        : false

// `npm run test:slow -- sandbox` says what it has prepared: no run passes for another, or for one that was skipped.
const prepared = process.env['REEVE_TEST_SANDBOX']
if (prepared !== undefined) assert.deepEqual({ footing, noBoxes }, { footing: prepared, noBoxes: false })

/** A broken sandbox must not take the machine down with it. */
export const SAFETY = { skip: noBoxes, timeout: 120_000 * slowness }

/** Why the sandbox cannot be tested here as a server uses it, or false. */
export const cannotTest: string | false = noBoxes || (isRoot ? false : 'cgroups are made as root here')

const folder = mkdtempSync(join(tmpdir(), 'reeve-sandbox-'))
after(() => removeTree(folder))

/** What the sandboxes of this file reported beside their results. */
export const heard: { protocolErrors: string[]; truncated: string[]; fallBacks: number } = {
  protocolErrors: [],
  truncated: [],
  fallBacks: 0,
}

export const options = (changes: Partial<SandboxOptions> = {}): SandboxOptions => ({
  cacheFolder: join(folder, 'cache'),
  mode: 'agent',
  degraded: footing === 'degraded' ? 'allow' : 'refuse',
  cgroup: '',
  stdoutLimitBytes: 262_144,
  stderrLimitBytes: 1_048_576,
  onProtocolError: (reason) => heard.protocolErrors.push(reason),
  onTruncated: (stream) => heard.truncated.push(stream),
  onFallBack: () => (heard.fallBacks += 1),
  ...changes,
})

const opened = new Map<string, Promise<Sandbox>>()

/** The sandbox of this file. */
export function sandbox(mode: 'agent' | 'exec' = 'agent'): Promise<Sandbox> {
  const known = opened.get(mode) ?? withHelper(options().cacheFolder).then(() => openSandbox(options({ mode })))
  opened.set(mode, known)
  return known
}

/** A folder of its own, and in it the compiled attacks (compiled once). */
export function workFolder(t: TestContext, sources: Readonly<Record<string, string>> = {}): string {
  const work = mkdtempSync(join(folder, 'work-'))
  chmodSync(work, 0o755)
  atEnd(t, () => removeTree(work))
  for (const [name, text] of Object.entries(sources)) writeFileSync(join(work, name), text)
  return work
}

export function compile(source: string, program: string): string {
  execFileSync('gcc', ['-O1', '-w', '-pthread', source, '-o', program])
  return program
}

export const LIMITS = {
  cpuMs: 1000,
  wallMs: 10_000,
  memoryBytes: 64 * MB,
  processesMax: 16,
  outputBytesMax: MB,
  fileBytesMax: 256 * MB,
  diskBytesMax: 256 * MB,
  stackBytes: 8 * MB,
} as const

export interface Ran {
  report: RunReport
  stdout: string
  stderr: string
}

export interface Rig {
  work: string
  runner: BoxRunner
  box: Box
  /** Runs in the box, with files beside the work folder for its output. */
  run(argv: readonly string[], changes?: Partial<RunRequest>): Promise<Ran>
  /** Another box of the same runner, in place of this one: `run` runs there. */
  reopen(): Promise<void>
}

export async function setup(
  t: TestContext,
  changes: Partial<BoxOptions> & { mode?: 'agent' | 'exec'; sources?: Readonly<Record<string, string>> } = {},
): Promise<Rig> {
  const before = leftovers()
  atEnd(t, () => assert.deepEqual(leftovers(), before, 'something was left behind'))
  const files = mkdtempSync(join(folder, 'files-'))
  chmodSync(files, 0o755)
  atEnd(t, () => removeTree(files))
  const work = changes.workFolder ?? workFolder(t, changes.sources)
  const runner = (await sandbox(changes.mode)).openRunner()
  atEnd(t, () => runner.close())
  const open = () => runner.open({ writable: false, readOnlyPaths: [], ...changes, workFolder: work })
  const box = await open()

  let current = box
  let runs = 0
  const run: Rig['run'] = async (argv, runChanges = {}) => {
    runs += 1
    const stdoutPath = join(files, `${runs}.out`)
    const stderrPath = join(files, `${runs}.err`)
    const { cpuMs, wallMs, ...limits } = { ...LIMITS, ...runChanges }
    const report = await current.run({
      jobId: 'attack',
      attemptId: 1,
      argv,
      env: { PATH: '/usr/bin:/bin', HOME: '/tmp' },
      stdinPath: null,
      stdoutPath,
      stderrPath,
      ...limits,
      cpuMs: cpuMs * slowness,
      wallMs: wallMs * slowness,
    })
    return { report, stdout: readStart(stdoutPath), stderr: readStart(stderrPath) }
  }
  const reopen = async () => {
    await current.close()
    current = await open()
  }
  return { work, runner, box, run, reopen }
}

/** The attacks of a C file beside this one, compiled once per test file. The program is called `attacks`. */
export function attackFolder(source: 'attacks' | 'shared-resources' = 'attacks'): string {
  const work = join(folder, source)
  if (readdirSync(folder).includes(source)) return work
  mkdirSync(work)
  compile(new URL(`${source}.c`, import.meta.url).pathname, join(work, 'attacks'))
  return work
}

const readStart = (path: string): string => {
  try {
    return readFileSync(path).subarray(0, 100_000).toString()
  } catch {
    return ''
  }
}

/** Of System V memory: the ids of boxes. Without root that is the own one. */
const OWNERS = isRoot ? / (6553[34]|100\d{7}) /g : new RegExp(` ${process.getuid?.()} `, 'g')

/** Whatever outlives a run would be here: mounts, System V memory, cgroups and processes in namespaces below this one. */
export function leftovers() {
  return {
    mounts: readFileSync('/proc/self/mountinfo', 'utf8'),
    sharedMemory: readFileSync('/proc/sysvipc/shm', 'utf8').match(OWNERS) ?? [],
    cgroups: ownCgroups(),
    processes: boxedProcesses(),
  }
}

/** The helpers' folders of a process, in every hierarchy, by their names. */
export const ownCgroups = (pid = process.pid): string[] => cgroupFolders(pid).map((folder) => basename(folder))

export function cgroupFolders(pid = process.pid): string[] {
  if (typeof hierarchy === 'string') return []
  return hierarchy.trees.flatMap(({ mount, base }) => {
    try {
      const names = readdirSync(join(mount, base)).filter((name) => name.includes(`-${pid}-`))
      return names.map((name) => join(mount, base, name))
    } catch {
      return []
    }
  })
}

/** What this process has below it of the sandbox: helpers, first processes of boxes, and whatever runs in them. */
export function boxedProcesses(): { pid: number; parent: number; name: string }[] {
  const all = readdirSync('/proc').flatMap((entry) => (/^\d+$/.test(entry) ? readProcess(Number(entry)) : []))
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]))
  const isBelow = (pid: number, ancestor: number): boolean => {
    const parent = parents.get(pid)
    return parent !== undefined && (parent === ancestor || isBelow(parent, ancestor))
  }
  const helpers = all.filter(({ name, parent }) => name.startsWith('reeve-box') && parent === process.pid)
  return [...helpers, ...all.filter(({ pid }) => helpers.some((helper) => isBelow(pid, helper.pid)))]
}

function readProcess(pid: number): { pid: number; parent: number; name: string }[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state === 'Z' || state === 'X') return []
    return [{ pid, parent: Number(parent), name: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')) }]
  } catch {
    return [] // it has ended
  }
}

/** Every process of a pid namespace, its first one included: they are there even when their parents are gone. */
export const processesIn = (namespace: string): number[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => readProcess(pid).length > 0 && namespaceOf(pid) === namespace)

export function namespaceOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return null
  }
}

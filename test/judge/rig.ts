// A sandbox for tests: its helper built once per file, runners that are closed with the test, and a look at everything that a run could
// leave behind.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import type { Box, BoxOptions, RunRequest, RunReport, BoxRunner } from '../../src/doors/judge/sandbox/box.ts'
import { openSandbox, type Sandbox, type SandboxOptions } from '../../src/doors/judge/sandbox/sandbox.ts'
import { atEnd } from '../support/cleanup.ts'
import { withHelper } from '../support/judge-cache.ts'

export const MB = 1024 * 1024

/** Why the sandbox cannot be tested here, or false. As `skip` of a test or suite. */
export const cannotTest: string | false =
  process.platform !== 'linux'
    ? 'the sandbox is for Linux'
    : process.getuid?.() !== 0
      ? 'cgroups are made as root here'
      : spawnSync('gcc', ['--version']).error !== undefined
        ? 'gcc is not installed'
        : false

const folder = mkdtempSync(join(tmpdir(), 'reeve-sandbox-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** What the sandboxes of this file reported beside their results. */
export const heard: { protocolErrors: string[]; truncated: string[]; fallBacks: number } = {
  protocolErrors: [],
  truncated: [],
  fallBacks: 0,
}

export const options = (changes: Partial<SandboxOptions> = {}): SandboxOptions => ({
  cacheFolder: join(folder, 'cache'),
  mode: 'agent',
  degraded: 'refuse',
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
  atEnd(t, () => rmSync(work, { recursive: true, force: true }))
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
}

export async function setup(
  t: TestContext,
  changes: Partial<BoxOptions> & { mode?: 'agent' | 'exec'; sources?: Readonly<Record<string, string>> } = {},
): Promise<Rig> {
  const before = leftovers()
  atEnd(t, () => assert.deepEqual(leftovers(), before, 'something was left behind'))
  const files = mkdtempSync(join(folder, 'files-'))
  chmodSync(files, 0o755)
  atEnd(t, () => rmSync(files, { recursive: true, force: true }))
  const work = changes.workFolder ?? workFolder(t, changes.sources)
  const runner = (await sandbox(changes.mode)).openRunner()
  atEnd(t, () => runner.close())
  const box = await runner.open({ writable: false, readOnlyPaths: [], ...changes, workFolder: work })

  let runs = 0
  const run: Rig['run'] = async (argv, runChanges = {}) => {
    runs += 1
    const stdoutPath = join(files, `${runs}.out`)
    const stderrPath = join(files, `${runs}.err`)
    const report = await box.run({
      jobId: 'attack',
      attemptId: 1,
      argv,
      env: { PATH: '/usr/bin:/bin', HOME: '/tmp' },
      stdinPath: null,
      stdoutPath,
      stderrPath,
      ...LIMITS,
      ...runChanges,
    })
    return { report, stdout: readStart(stdoutPath), stderr: readStart(stderrPath) }
  }
  return { work, runner, box, run }
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

/** Whatever outlives a run would be here: mounts, System V memory, cgroups and processes in namespaces below this one. */
export function leftovers() {
  return {
    mounts: readFileSync('/proc/self/mountinfo', 'utf8'),
    sharedMemory: readFileSync('/proc/sysvipc/shm', 'utf8').match(/ (6553[34]|100\d{7}) /g) ?? [], // as their owner
    cgroups: ownCgroups(),
    processes: boxedProcesses(),
  }
}

/** The runners' folders of this process, in every hierarchy. */
export function ownCgroups(): string[] {
  return ['memory/reeve', 'cpuacct/reeve', 'pids/reeve', 'reeve'].flatMap((base) => {
    try {
      return readdirSync(join('/sys/fs/cgroup', base)).filter((name) => name.includes(`-${process.pid}-`))
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

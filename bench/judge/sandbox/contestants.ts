// Ways to run a program that does nothing (/bin/true), from Node. None of them is given files to read or write.

import { spawn, spawnSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunRequest } from '../../../src/doors/judge/sandbox/box.ts'
import { openSandbox, type Sandbox } from '../../../src/doors/judge/sandbox/sandbox.ts'
import type { Teardown } from '../../teardown.ts'

export interface Contestant {
  name: string
  title: string
  /** What it does and does not do, for the reader. */
  about: string
  /** A way to run the program again and again; several may be used at the same time. */
  prepare(): Promise<() => Promise<void>>
}

const MB = 2 ** 20

export const NOTHING: RunRequest = {
  jobId: 'bench',
  attemptId: 1,
  argv: ['/bin/true'],
  env: {},
  stdinPath: null,
  stdoutPath: null,
  stderrPath: null,
  cpuMs: 1000,
  wallMs: 10_000,
  memoryBytes: 64 * MB,
  processesMax: 16,
  outputBytesMax: MB,
  fileBytesMax: MB,
  diskBytesMax: MB,
  stackBytes: 8 * MB,
}

export interface Field {
  folder: string
  isolate: string
  teardown: Teardown
}

/** Those that this machine has, and a word about those that it has not. */
export async function findContestants(field: Field): Promise<{ contestants: Contestant[]; missing: string[] }> {
  const missing: string[] = []
  const has = (program: string, why: string) => {
    const found = spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0
    if (!found) missing.push(why)
    return found
  }
  const contestants = [bare, await reeve(field, 'agent'), await reeve(field, 'exec')]
  if (has('bwrap', 'bubblewrap is not installed: apt-get install bubblewrap')) contestants.push(bubblewrap)
  if (
    has(field.isolate, 'isolate was not found: build it (github.com/ioi/isolate), set it up, and name it by --isolate')
  )
    contestants.push(isolate(field))
  return { contestants, missing }
}

const bare: Contestant = {
  name: 'bare',
  title: 'bare spawn',
  about: 'child_process.spawn, no sandbox',
  prepare: async () => () => exec('/bin/true', []),
}

export async function openBenchSandbox({ folder }: Field, mode: 'agent' | 'exec'): Promise<Sandbox> {
  const fail = (what: string) => () => {
    throw new Error(what)
  }
  return openSandbox({
    cacheFolder: join(folder, 'cache'),
    mode,
    degraded: 'refuse',
    cgroup: '',
    stdoutLimitBytes: 262_144,
    stderrLimitBytes: 1_048_576,
    onProtocolError: fail('a protocol error'),
    onTruncated: fail('truncated'),
    onFallBack: fail('a fall-back'),
  })
}

async function reeve(field: Field, mode: 'agent' | 'exec'): Promise<Contestant> {
  const sandbox = await openBenchSandbox(field, mode)
  return {
    name: mode,
    title: mode === 'agent' ? 'Reeve' : 'Reeve, SANDBOX=exec',
    about: `${mode === 'agent' ? 'a box that is there already' : 'a helper and a box per run'}; namespaces, ${sandbox.about}, seccomp`,
    async prepare() {
      const workFolder = join(field.folder, 'work')
      await mkdir(workFolder, { recursive: true })
      const runner = sandbox.openRunner()
      field.teardown.add(() => runner.close())
      const box = await runner.open({ workFolder, writable: false, readOnlyPaths: [] })
      return async () => {
        const { verdict, sandboxError } = await box.run(NOTHING)
        if (verdict !== 'OK') throw new Error(`${verdict} ${sandboxError}`)
      }
    },
  }
}

const BWRAP =
  '--unshare-all --die-with-parent --new-session --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp'.split(
    ' ',
  )

const bubblewrap: Contestant = {
  name: 'bwrap',
  title: 'bubblewrap',
  about: 'bwrap per run: namespaces only, no limits, no seccomp',
  prepare: async () => () => exec('bwrap', [...BWRAP, '/bin/true']),
}

function isolate({ isolate, teardown }: Field): Contestant {
  let boxes = 0
  return {
    name: 'isolate',
    title: 'isolate --run',
    about: 'a box that is there already (--init), isolate --run per run, without --cg: limits per process',
    async prepare() {
      const box = `--box-id=${boxes}`
      boxes += 1
      await exec(isolate, [box, '--init'])
      teardown.add(() => exec(isolate, [box, '--cleanup']))
      const limits = ['--time=1', '--wall-time=10', '--mem=65536', '--processes=16', '--fsize=1024', '--silent']
      return () => exec(isolate, [box, ...limits, '--run', '--', '/bin/true'])
    },
  }
}

const exec = (program: string, args: readonly string[]): Promise<void> =>
  new Promise((resolve, reject) => {
    spawn(program, args, { stdio: 'ignore' })
      .once('error', reject)
      .once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${program} ended with ${code}`))))
  })

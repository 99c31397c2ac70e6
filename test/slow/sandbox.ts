// The tests of the sandbox with cgroup v1 and v2, as root and as a plain user. A machine binds its controllers to one version: that one is
// tested here, and the other in a virtual machine.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { findHierarchy } from '../../src/doors/judge/sandbox/cgroups.ts'
import { compiled, compileTests } from '../compile.ts'
import { ran } from './debian-root.ts'
import { boot, FOLDER, isVirtualized, makeDisk, noVirtualMachine } from './virtual-machine.ts'

const SCRIPT = 'test/slow/sandbox-runs.sh'

/** What an emulated processor needs: limits of time in the tests are multiplied by it. */
const SLOWNESS_EMULATED = 20

/** These judge with the limits of problems, for which an emulated processor is too slow. */
const JUDGING = ['test/judge/series.test.ts', 'test/judge/judging.test.ts']

const TESTS = [
  'test/judge/attacks.test.ts',
  'test/judge/shared-resources.test.ts',
  'test/judge/compiler-attacks.test.ts',
  'test/judge/runs.test.ts',
  'test/judge/self-test.test.ts',
  'test/crash/sandbox.test.ts',
]

/** As sandbox-runs.sh names them. */
const RUNS = {
  1: ['root, cgroup v1', 'plain user, cgroup v1 not delegated'],
  2: ['root, cgroup v2', 'plain user, cgroup v2 delegated', 'plain user, cgroup v2 not delegated'],
} as const

export const noSandboxes = (): string | null => (process.getuid?.() === 0 ? noVirtualMachine() : 'not root')

/** Whether every run passed. */
export async function testSandboxes(): Promise<boolean> {
  const made = await compileTests()
  if ('wrong' in made) return (console.error(made.wrong), false)
  mkdirSync(FOLDER, { recursive: true })
  const here = versionHere()
  const results: string[] = []
  for (const version of [1, 2] as const) {
    const isEmulated = version !== here && !isVirtualized()
    writeFileSync(join(FOLDER, 'tests'), [...TESTS, ...(isEmulated ? [] : JUDGING)].map(compiled).join('\n'))
    const ended = await codesIn(version === here ? runHere(version) : runInMachine(version))
    results.push(...RUNS[version].map((name) => `${ended.get(name) === '0' ? '✔' : '✖'} ${name}`))
  }
  console.log(`\n${results.join('\n')}`)
  return results.every((result) => result.startsWith('✔'))
}

function versionHere(): 1 | 2 | null {
  const read = (name: string) => readFileSync(`/proc/self/${name}`, 'utf8')
  const hierarchy = findHierarchy(read('mountinfo'), read('cgroup'), { base: '', isRoot: true })
  return typeof hierarchy === 'string' ? null : hierarchy.version
}

const runHere = (version: 1 | 2): Readable =>
  spawn(SCRIPT, [String(version)], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout

function runInMachine(version: 1 | 2): Readable {
  const archive = join(FOLDER, 'tree.tar')
  if (!makeDisk() || !pack(archive)) throw new Error('The virtual machine cannot be made.')
  return boot(archive, SCRIPT, `reeve.cgroup=${version} reeve.slowness=${isVirtualized() ? 1 : SLOWNESS_EMULATED}`)
}

/** The compiled tests and what they import, with the packages that production needs. */
function pack(archive: string): boolean {
  const { packages }: { packages: Record<string, { dev?: boolean }> } = JSON.parse(
    readFileSync('package-lock.json', 'utf8'),
  )
  const needed = Object.entries(packages)
    .filter(([path, { dev }]) => dev !== true && path.startsWith('node_modules/') && existsSync(path))
    .map(([path]) => path)
  const own = [
    'package.json',
    'native',
    'build/native',
    'build/src',
    'build/test',
    'build/chunks',
    'build/virtual-machine/tests',
  ]
  return ran('tar', ['-c', '-f', archive, '--mode=go+rX', SCRIPT, ...own, ...needed])
}

/** Prints what is said, and returns the exit code of each run. */
async function codesIn(output: Readable): Promise<Map<string, string>> {
  const ended = new Map<string, string>()
  for await (const text of createInterface({ input: output })) {
    console.log(text)
    const [, name, code] = /^ended: (.*): (\d+)\s*$/.exec(text) ?? []
    if (name !== undefined && code !== undefined) ended.set(name, code)
  }
  return ended
}

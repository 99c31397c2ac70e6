// deploy/docker/Dockerfile is built and run as it is written, with buildah and podman. Only its base is not the one it names, which would have to be
// pulled: it is a new Debian with this Node in it, under that name.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../support/until.ts'
import { NO_COMPILER, untilReady, withDebian } from './debian.ts'
import { has, run } from './program.ts'

const DOCKERFILE = 'deploy/docker/Dockerfile'
const PORT = '18081'
const NEEDED = ['debootstrap', 'buildah', 'podman']

/** Null: it can. */
export function whyNoImage(): string | null {
  if (process.getuid?.() !== 0) return 'not root'
  const missing = NEEDED.filter((program) => !has(program))
  return missing.length === 0 ? null : `${missing.join(', ')} not installed`
}

export async function runImage(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-image-'))
  const store = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run')]
  const podman = (...options: string[]) => run('podman', [...store, ...options], { isQuiet: true })
  try {
    await withDebian([], async (root) => importBase(root, store))
    build(folder, store)
    console.log(podman('images'))
    await startsAndStops(store, podman)
  } finally {
    spawnSync('podman', [...store, 'rm', '--all', '--force'])
    spawnSync('podman', [...store, 'system', 'reset', '--force'])
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Under the name that the Dockerfile has. */
async function importBase(root: string, store: readonly string[]): Promise<void> {
  const names = new Set([...readFileSync(DOCKERFILE, 'utf8').matchAll(/^FROM (\S+)/gm)].map(([, name = '']) => name))
  assert.equal(names.size, 1, 'one base image')
  const [name = ''] = names
  const command = 'tar -C "$0" -c . | podman "$@"'
  run('sh', ['-c', command, root, ...store, 'import', '--quiet', '-', `docker.io/library/${name}`])
}

/** What is committed, and nothing else. */
function build(folder: string, store: readonly string[]): void {
  const context = join(folder, 'context')
  mkdirSync(context)
  run('sh', ['-c', 'git archive HEAD | tar -x -C "$0"', context])
  const format = ['--format', 'docker'] // the other one has no health check
  const options = [...format, '--isolation', 'chroot', '--network', 'host', '--pull-never', '--tag', 'reeve']
  run('buildah', [...store, 'build', ...options, '--file', join(context, DOCKERFILE), context])
}

async function startsAndStops(store: readonly string[], podman: (...options: string[]) => string): Promise<void> {
  const runtime = has('runc') ? ['--runtime', 'runc'] : [] // Debian's crun refuses a machine with both versions of cgroups
  const limits = ['nofile', 'nproc'].flatMap((name) => ['--ulimit', `${name}=4096:4096`]) // podman's default may be above what is allowed
  const settings = ['--env', `SERVER_PORT=${PORT}`, '--volume', 'reeve:/var/lib/reeve', '--network', 'host']
  run('podman', [...store, ...runtime, 'run', '--detach', '--name', 'reeve', ...limits, ...settings, 'reeve'])
  const isOver = () => podman('inspect', '--format', '{{.State.Running}}', 'reeve').trim() !== 'true'
  const logs = () => run('sh', ['-c', 'exec podman "$@" 2>&1', 'sh', ...store, 'logs', 'reeve'], { isQuiet: true })

  await untilReady(PORT, isOver).catch((error) => assert.fail(`${error.message}\n${logs()}`))
  assert.match(logs(), /the admin is admin with the password /)
  await until('the log says why the judge is off', () => NO_COMPILER.test(logs()), logs)
  assert.equal(podman('exec', 'reeve', 'id', '-u').trim(), '10001')
  podman('healthcheck', 'run', 'reeve')

  podman('stop', '--time', '60', 'reeve')
  assert.equal(podman('inspect', '--format', '{{.State.ExitCode}}', 'reeve').trim(), '0')
  podman('start', 'reeve')
  await untilReady(PORT, isOver)
  assert.equal(logs().match(/the admin is admin with the password /g)?.length, 1, 'the volume keeps the database')
}

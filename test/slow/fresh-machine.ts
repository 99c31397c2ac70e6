// A Debian that has nothing but Node follows the README: install, start, ask whether it is ready, stop. Without a compiler the judge door cannot
// open, so that the other doors are asked for.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const SUITE = 'bookworm'
const MIRROR = 'http://deb.debian.org/debian'
const PORT = '18080'
const READY_TRIES = 300
const READY_EVERY_MS = 200

export async function followReadme(): Promise<boolean> {
  const root = mkdtempSync(join(tmpdir(), 'reeve-fresh-'))
  try {
    if (!ran('debootstrap', ['--variant=minbase', '--include=ca-certificates', SUITE, root, MIRROR])) return false
    putNode(root)
    putSource(root)
    cpSync('/etc/resolv.conf', join(root, 'etc/resolv.conf'))
    if (!inside(root, 'cd /reeve && npm ci --no-audit --no-fund')) return false
    return await startsAndStops(root)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** This Node, with its npm, and the libraries that it is linked with and Debian's base lacks. */
function putNode(root: string): void {
  const prefix = dirname(dirname(process.execPath))
  cpSync(process.execPath, join(root, 'usr/bin/node'))
  const npm = spawnSync('npm', ['root', '--global'], { encoding: 'utf8' }).stdout.trim()
  cpSync(join(npm, 'npm'), join(root, 'usr/lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx']) {
    const script = `#!/bin/sh\nexec node /usr/lib/node_modules/npm/bin/${name}-cli.js "$@"\n`
    spawnSync('sh', ['-c', `cat > "$0" && chmod 755 "$0"`, join(root, 'usr/bin', name)], { input: script })
  }
  const libraries = spawnSync('ldd', [process.execPath], { encoding: 'utf8' }).stdout.matchAll(/=> (\/\S+)/g)
  for (const [, library = ''] of libraries) {
    if (library.startsWith(prefix) || !library.startsWith('/lib')) cpSync(library, join(root, library))
  }
}

/** What is committed, and nothing else. */
function putSource(root: string): void {
  const target = join(root, 'reeve')
  mkdirSync(target)
  spawnSync('sh', ['-c', `git archive HEAD | tar -x -C "$0"`, target], { stdio: 'inherit' })
}

async function startsAndStops(root: string): Promise<boolean> {
  const env = `SERVER_PORT=${PORT} DOORS=challenge,pool,desk,arena`
  const child = spawn('chroot', [root, 'sh', '-c', `cd /reeve && ${env} exec node dist/cli/main.js up`], {
    stdio: 'inherit',
  })
  const isReady = await untilReady(child)
  child.kill('SIGTERM')
  const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode]
  return isReady && code === 0
}

async function untilReady(child: ChildProcess): Promise<boolean> {
  for (let tries = 0; tries < READY_TRIES && child.exitCode === null; tries += 1) {
    const answer = await fetch(`http://127.0.0.1:${PORT}/readyz`).catch(() => null)
    if (answer?.status === 200) return true
    await sleep(READY_EVERY_MS)
  }
  return false
}

const inside = (root: string, command: string): boolean => ran('chroot', [root, 'sh', '-c', command])

const ran = (program: string, options: readonly string[]): boolean =>
  spawnSync(program, options, { stdio: 'inherit' }).status === 0

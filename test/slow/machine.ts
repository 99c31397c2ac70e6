// A Debian in a folder, booted with its own systemd: as a container on this machine's network (systemd-nspawn), and as a virtual
// machine (User-mode Linux), whose kernel is its own, with cgroups that this machine may lack.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from './program.ts'

const BOOT_TRIES = 120
const BOOT_EVERY_MS = 500
const SHUTDOWN_MS = 30_000
const VIRTUAL_MAX_SEC = '600'
const DISK = '6G'

export interface Machine {
  /** As a login of that user; what it says on standard output. Throws unless it succeeds. */
  run(command: string, user?: string): string
  /** The same, until Ctrl-C. */
  start(command: string, user?: string): Started
  shutDown(): Promise<void>
}

export interface Started {
  isOver(): boolean
  /** Presses Ctrl-C. What it has said. */
  interrupt(): Promise<string>
}

export async function boot(root: string): Promise<Machine> {
  const options = ['--register=no', '--keep-unit', '--console=pipe', '--boot', '--directory', root]
  const child = spawn('systemd-nspawn', options, { stdio: 'ignore' })
  const init = await initOf(child.pid ?? 0)
  const inside = (user: string, command: string) => [
    '-t',
    init,
    '-a',
    'runuser',
    '-l',
    user,
    '-c',
    `set -eu\n${command}`,
  ]
  for (let tries = 0; tries < BOOT_TRIES; tries += 1) {
    const { stdout } = spawnSync('nsenter', ['-t', init, '-a', 'systemctl', 'is-system-running'], { encoding: 'utf8' })
    if (/^(running|degraded)/.test(stdout)) break
    await sleep(BOOT_EVERY_MS)
  }
  return {
    run: (command, user = 'root') => run('nsenter', inside(user, command)),
    start(command, user = 'root') {
      // A session of its own, as that of a terminal: Ctrl-C is a signal to all of it.
      const session = `setsid --wait sh -c 'echo $$ > ~/pid; ${command}'`
      const started = spawn('nsenter', inside(user, session), { stdio: ['ignore', 'pipe', 'pipe'] })
      let said = ''
      for (const stream of [started.stdout, started.stderr]) {
        stream.setEncoding('utf8').on('data', (text) => {
          said += text
          process.stdout.write(text)
        })
      }
      return {
        isOver: () => started.exitCode !== null,
        async interrupt() {
          run('nsenter', inside(user, 'kill -INT -- -$(cat ~/pid)'))
          if (started.exitCode === null && started.signalCode === null) await once(started, 'exit')
          return said
        },
      }
    },
    async shutDown() {
      child.kill('SIGTERM')
      const forced = setTimeout(() => child.kill('SIGKILL'), SHUTDOWN_MS)
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      clearTimeout(forced)
    },
  }
}

async function initOf(pid: number): Promise<string> {
  for (let tries = 0; tries < BOOT_TRIES; tries += 1) {
    const [init = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
    if (init !== '') return init
    await sleep(BOOT_EVERY_MS)
  }
  throw new Error('the machine does not boot')
}

/** What a script says that runs in a virtual machine with a copy of this folder as its disk, as root, once it is booted. */
export function runVirtual(root: string, script: string): string {
  writeFileSync(join(root, 'root/script.sh'), `set -ex\n${script}`)
  writeFileSync(join(root, 'etc/systemd/system/script.service'), UNIT)
  run('chroot', [root, 'systemctl', 'enable', '--quiet', 'script.service'])
  const disk = `${root}.disk`
  try {
    run('mkfs.ext4', ['-q', '-d', root, disk, DISK])
    run('timeout', [
      VIRTUAL_MAX_SEC,
      'linux.uml',
      `ubd0=${disk}`,
      'root=/dev/ubda',
      'rw',
      'mem=2G',
      'con=null',
      'con0=null',
    ])
    return run('debugfs', ['-R', 'cat /root/script.log', disk], { isQuiet: true })
  } finally {
    rmSync(disk, { force: true })
  }
}

const UNIT = `
[Service]
Type=oneshot
ExecStart=/bin/sh /root/script.sh
ExecStopPost=/bin/systemctl --no-block poweroff
StandardOutput=file:/root/script.log
StandardError=inherit

[Install]
WantedBy=multi-user.target
`

// A virtual machine with Debian's kernel and this Node, which runs a script of an archive as process 1. Its disk is made once and kept in
// build/; what it writes there is thrown away.
import { spawn, spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { makeDebian, putNode, ran } from './debian-root.ts'

const PACKAGES = ['gcc', 'g++', 'libc6-dev', 'procps', 'python3', 'linux-image-cloud-amd64']
export const FOLDER = resolve('build/virtual-machine')
const DISK = join(FOLDER, 'debian.ext4')
const DISK_SIZE = '6G'
const MEMORY_MB = '3072'
/** To the folder that it has here, because compiled tests know it. The kernel's command line names it and the script. */
const FROM_ARCHIVE = `#!/bin/sh
value() { sed "s#.*reeve.$1=##; s# .*##" /proc/cmdline; }
mkdir -p "$(value folder)" && cd "$(value folder)" && tar -x -f /dev/vdb && exec "$(value script)"
`
const RUN_MS_MAX = 3 * 3_600_000

/** Why there can be no virtual machine, or null. */
export function noVirtualMachine(): string | null {
  if (process.arch !== 'x64') return 'the virtual machine is of x86-64'
  const missing = ['debootstrap', 'mke2fs', 'qemu-system-x86_64'].find(
    (name) => spawnSync('which', [name]).status !== 0,
  )
  return missing === undefined ? null : `${missing} is not installed`
}

/** Whether the processor runs it. Otherwise it is emulated, which takes 10 to 20 times as long. */
export function isVirtualized(): boolean {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK)
    return /^flags\b.*\b(vmx|svm)\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'))
  } catch {
    return false
  }
}

/** A file system with the Debian and this Node, and beside it the kernel that boots it. False: it could not be made. */
export function makeDisk(): boolean {
  if (existsSync(DISK)) return true
  const root = join(FOLDER, 'root')
  rmSync(root, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  if (!makeDebian(root, PACKAGES)) return false
  putNode(root)
  writeFileSync(join(root, 'sbin/from-archive'), FROM_ARCHIVE, { mode: 0o755 })
  for (const name of readdirSync(join(root, 'boot'))) {
    const kind = /^(vmlinuz|initrd)/.exec(name)?.[0]
    if (kind !== undefined) copyFileSync(join(root, 'boot', name), join(FOLDER, kind))
  }
  const draft = `${DISK}.draft`
  const isMade = ran('mke2fs', ['-q', '-F', '-t', 'ext4', '-d', root, draft, DISK_SIZE]) && ran('mv', [draft, DISK])
  rmSync(root, { recursive: true, force: true })
  return isMade
}

/** Runs a script of the archive, by its path there. Returns what the serial console says; ends when the machine turns itself off. */
export function boot(archive: string, script: string, settings: string): Readable {
  const processor = isVirtualized() ? ['-accel', 'kvm', '-cpu', 'host'] : ['-accel', 'tcg,thread=multi', '-cpu', 'max']
  const machine = ['-smp', '2', '-m', MEMORY_MB, '-nographic', '-no-reboot', '-net', 'none']
  const disks = [`file=${DISK},format=raw,if=virtio,snapshot=on`, `file=${archive},format=raw,if=virtio,readonly=on`]
  const kernel = ['-kernel', join(FOLDER, 'vmlinuz'), '-initrd', join(FOLDER, 'initrd')]
  const line = `root=/dev/vda rw init=/sbin/from-archive console=ttyS0 panic=-1 quiet reeve.folder=${resolve('.')} reeve.script=./${script} ${settings}`
  const options = [...processor, ...machine, ...disks.flatMap((disk) => ['-drive', disk]), ...kernel, '-append', line]
  return spawn('qemu-system-x86_64', options, { stdio: ['ignore', 'pipe', 'inherit'], timeout: RUN_MS_MAX }).stdout
}

// A new Debian in a folder, with this Node in it and nothing else: no compiler, no modules.
import assert from 'node:assert/strict'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeDebian, putNode } from './debian-root.ts'

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

/** What the log says where there is no compiler. */
export const NO_COMPILER = /sandbox is a small C program, and it cannot be compiled[^]*apt-get install gcc/

/** `packages`: of Debian, beside the smallest set. */
export async function withDebian(packages: readonly string[], use: (root: string) => Promise<void>): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'reeve-fresh-'))
  chmodSync(root, 0o755) // it is everybody's / there
  try {
    assert(makeDebian(root, ['ca-certificates', ...packages]), 'debootstrap failed')
    putNode(root)
    // The name servers and certificates of this machine: its way to the npm registry may be a proxy's.
    cpSync('/etc/resolv.conf', join(root, 'etc/resolv.conf'), { dereference: true })
    cpSync(CERTIFICATES, join(root, CERTIFICATES), { dereference: true })
    mkdirSync(join(root, 'usr/etc'), { recursive: true })
    writeFileSync(join(root, 'usr/etc/npmrc'), `cafile=${CERTIFICATES}\n`)
    await use(root)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** Waits until a server of this machine says that it is ready. */
export async function untilReady(port: string, isOver: () => boolean): Promise<void> {
  for (let tries = 0; tries < READY_TRIES && !isOver(); tries += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null)
    if (answer?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, READY_EVERY_MS))
  }
  throw new Error('the server is not ready')
}
const READY_TRIES = 300
const READY_EVERY_MS = 200

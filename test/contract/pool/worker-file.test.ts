// GET /worker.mjs: a machine that works for the pool needs this one file and Node.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { VERSION } from '../../../src/core/version.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { setup } from './setup.ts'
import { killedAtEnd, ownerOf, stopped } from './worker-process.ts'

test('a worker runs from the one file that the server gives, in an empty folder', async (t) => {
  const pool = await setup(t)
  const { env } = await ownerOf(t, pool)
  const folder = await temporaryFolder(t)

  const answer = await fetch(`${pool.url}/worker.mjs`)
  const bytes = Buffer.from(await answer.arrayBuffer())
  const digest = createHash('sha256').update(bytes)
  await writeFile(join(folder, 'worker.mjs'), bytes)
  const { PATH = '' } = process.env
  const start = (...args: string[]) => {
    const child = spawn(process.execPath, ['worker.mjs', ...args], {
      cwd: folder,
      env: { PATH, HOME: folder, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    killedAtEnd(t, child)
    return child
  }
  const run = async (...args: string[]) => {
    const child = start(...args)
    const [stdout, status] = await Promise.all([text(child.stdout), stopped(child)])
    return { status, stdout: stdout.trim() }
  }

  assert.equal(answer.headers.get('content-digest'), `sha-256=:${digest.copy().digest('base64')}:`)
  assert.equal(answer.headers.get('x-reeve-version'), VERSION)
  assert.equal((await run('--version')).stdout, `${VERSION} sha256 ${digest.digest('hex')}`)
  assert.equal((await run('keygen')).status, 0)
  const registered = await run('register', '--name', 'one-file', '--url', pool.url)
  assert.equal(registered.status, 0)
  const id = registered.stdout
  const child = start('run', '--worker', id, '--exec', 'cat', '--url', pool.url)
  const job = await pool.job(await pool.submitJob({ payload: { x: 1 } }), 30)
  assert.deepEqual([job.status, job.result?.output], ['completed', { x: 1 }])
  child.kill('SIGTERM')
  assert.equal(await stopped(child), 0)
  assert.deepEqual((await readdir(folder)).sort(), ['worker.key', 'worker.mjs'])
  assert.equal((await run('run', '--worker', id, '--judge', '--url', pool.url)).status, 2)
})

test('the worker in Python is served too', async (t) => {
  const pool = await setup(t)

  const answer = await fetch(`${pool.url}/worker.py`)

  assert.match(await answer.text(), /^#!\/usr\/bin\/env python3/)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/x-python/)
})

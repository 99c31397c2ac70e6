// Worker processes that are killed and frozen. Each is a plain process that starts in a tenth of a second, with a few workers in
// it: they poll, work for as long as the job says, sign and submit, late or not, and tell the parent what came of it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { TestContext } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import type { Worker } from '../contract/pool/setup.ts'
import { ROOT } from '../support/program.ts'

const SCRIPT = `
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { outputHash, signSubmission } from '@reeve/sdk/pool'
const { url, workers } = JSON.parse(process.argv[1])
process.once('disconnect', () => process.exit(1))
const tell = (what, more = {}) => process.send?.({ what, ...more })
const agent = new Agent({ keepAlive: true })
const post = (by, path, body, headers = {}) =>
  new Promise((resolve, reject) => {
    const sent = { method: 'POST', agent, headers: { ...by, 'content-type': 'application/json', ...headers } }
    const asked = request(url + path, sent, (answer) => {
      let said = ''
      answer.setEncoding('utf8').on('data', (text) => (said += text)).on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode, body: JSON.parse(said) }))
    })
    asked.on('error', reject)
    asked.end(JSON.stringify(body))
  })
tell('ready')
for (const { id, by, key } of workers) void work(id, by, key)
async function work(id, by, key) {
 for (;;) {
  try {
    const { status, body } = await post(by, '/jobs/poll', { worker_id: id }, { prefer: 'wait=2' })
    if (status !== 200) continue
    const { assignment_id, nonce, job } = body
    tell('assigned')
    await sleep(job.ms)
    const output = { n: job.n }
    const output_hash = outputHash(JSON.stringify(output))
    const signature = signSubmission(key, { assignment_id, nonce, output_hash })
    const said = await post(by, '/jobs/submit', { worker_id: id, assignment_id, nonce, signature, output, output_hash })
    tell(said.status === 200 ? 'submitted' : 'refused', { detail: said.body.detail ?? null, n: job.n })
  } catch {
    await sleep(50) // the server is away
  }
 }
}`

export interface WorkerProcess {
  workers: readonly Worker[]
  /** How often it has said this. */
  count(what: 'ready' | 'assigned' | 'submitted' | 'refused'): number
  /** What the server said to results that it refused. */
  refusals(): string[]
  /** Stops it in its tracks for so long. Another process wakes it: it must not sleep for ever if this one dies. */
  freeze(ms: number): Promise<void>
  kill(): Promise<void>
  isDead(): boolean
}

export function startWorkerProcess(t: TestContext, url: string, workers: readonly Worker[]): WorkerProcess {
  const known = workers.map(({ id, by, privateKey }) => ({ id, by, key: privateKey.export({ format: 'jwk' }) }))
  const options = JSON.stringify({ url, workers: known })
  const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT, options], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const counts = new Map<string, number>()
  const refusals: string[] = []
  child.on('message', (message) => {
    assert(typeof message === 'object' && message !== null && 'what' in message)
    counts.set(String(message.what), (counts.get(String(message.what)) ?? 0) + 1)
    if (message.what === 'refused' && 'detail' in message) refusals.push(String(message.detail))
  })
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  atEnd(t, kill)
  return {
    workers,
    count: (what) => counts.get(what) ?? 0,
    refusals: () => refusals,
    freeze: (ms) =>
      new Promise((resolve, reject) => {
        const { pid } = child
        const script = `kill -STOP ${pid}; sleep ${ms / 1000}; kill -CONT ${pid}`
        const freezer = spawn('sh', ['-c', script], { stdio: 'ignore' })
        freezer.on('error', reject).on('exit', () => resolve())
      }),
    kill,
    isDead: () => child.exitCode !== null || child.signalCode !== null,
  }
}

// Workers that a test talks to only through the server: the SDK's, and examples/worker.py.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { parsePrivateKey, runWorker, type Handler, type WorkerEvent } from '@reeve/sdk/pool'
import { atEnd } from '../../support/cleanup.ts'
import type { Pool } from './setup.ts'
import { killedAtEnd, ownerOf, reeve } from './worker-process.ts'

/** The worker of the SDK, in this process: its events. */
export async function sdkWorker(t: TestContext, pool: Pool, handler: Handler, url = pool.url) {
  const worker = await pool.worker('sdk')
  const events: WorkerEvent[] = []
  const stopping = new AbortController()
  const running = runWorker({
    client: new ReeveClient({ url, token: String(pool.owner['authorization']).replace('Bearer ', '') }),
    workerId: worker.id,
    key: parsePrivateKey(worker.privateKey.export({ format: 'jwk' })),
    waitSec: 1,
    signal: stopping.signal,
    onEvent: (event) => events.push(event),
    handler,
  })
  atEnd(t, async () => {
    stopping.abort()
    await running
  })
  return events
}

/** examples/worker.py as a process of its own. `work`: Python in place of the example's own, as a user would write it. */
export async function pythonWorker(t: TestContext, pool: Pool, options: { work?: string; url?: string } = {}) {
  const { key, apiKey } = await ownerOf(t, pool)
  assert.equal((await reeve(['keygen', '--key', key])).status, 0)
  const { x } = JSON.parse(await readFile(key, 'utf8'))
  const { id } = (await pool.ask('POST', '/workers/register', { name: 'python', public_key: x }, pool.owner)).body
  const { PATH = '' } = process.env
  const env = {
    PATH,
    WORKER_ID: String(id),
    WORKER_KEY: key,
    WORKER_API_KEY: apiKey,
    SERVER: options.url ?? pool.url,
    WAIT: '1',
    HEARTBEAT: '0.1',
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const program =
    options.work === undefined
      ? ['examples/worker.py']
      : [
          '-c',
          `import sys\nsys.path.insert(0, 'examples')\nimport worker\n${options.work}\nworker.work = work\nworker.main()`,
        ]
  const child = spawn('python3', program, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  killedAtEnd(t, child)
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  return { said: () => said }
}

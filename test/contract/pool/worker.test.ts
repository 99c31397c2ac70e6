// Workers as a user runs them: the `reeve worker` command, the SDK, and the example in Python.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { parsePrivateKey, runWorker, type WorkerEvent } from '@reeve/sdk/pool'
import { atEnd } from '../../support/cleanup.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { setup, sha256, type Pool, type SetupOptions } from './setup.ts'
import { killedAtEnd, ownerOf, reeve, startWorker, stopped } from './worker-process.ts'

async function withOwner(t: TestContext, options: SetupOptions = {}) {
  const pool = await setup(t, options)
  return { pool, ...(await ownerOf(t, pool)) }
}

const result = async (pool: Pool, jobId: string) => {
  const job = await pool.job(jobId, 30)
  return [job.status, job.result?.output ?? job.error_message]
}

describe('reeve worker', () => {
  test('keygen, register and run: jobs go through a command, and SIGTERM lets the one in hand finish', async (t) => {
    const { pool, folder, key, env } = await withOwner(t)
    const made = await reeve(['keygen', '--key', key])
    assert.equal(made.status, 0, made.stderr)
    assert.equal((await stat(key)).mode & 0o777, 0o600)
    assert.equal((await reeve(['keygen', '--key', key])).status, 1, 'a key is not overwritten')

    const common = ['--key', key, '--url', pool.url]
    const registered = await reeve(['register', '--name', 'shell', '--specs', '{"cores":2}', ...common], env)
    assert.equal(registered.status, 0, registered.stderr)
    const [worker] = (await pool.ask('GET', '/workers', undefined, pool.owner)).body.workers
    assert.deepEqual([String(worker.id), worker.public_key], [registered.stdout.trim(), made.stdout.trim()])
    const taken = await reeve(['register', '--name', 'shell', ...common], env)
    assert.deepEqual([taken.status, taken.stderr], [1, '409: Worker name already exists\n'])

    const script = join(folder, 'work.sh')
    const [slow, go] = [join(folder, 'slow'), join(folder, 'go')]
    await writeFile(
      script,
      `read -r job; case "$job" in
        *fail*) echo "no luck" >&2; exit 3;;
        *nul*) printf '{"x":"\\\\u0000"}';;
        *zero*) printf 'a\\0b' >&2; exit 4;;
        *chat*) echo hello;;
        *slow*) touch ${slow}; while [ ! -e ${go} ]; do sleep 0.05; done; echo '{"slept":1.0}';;
        *) printf '{"job":%s,"key":"%s"}' "$job" "$WORKER_API_KEY";;
      esac`,
    )
    const { child, seen } = startWorker(t, ['--worker', String(worker.id), '--exec', `sh ${script}`, ...common], env)
    const jobs = [{ x: 1 }, { fail: 1 }, { chat: 1 }].map((payload) => pool.submitJob({ payload }))
    const [echo = '', fail = '', chat = ''] = await Promise.all(jobs)

    assert.deepEqual(await result(pool, echo), ['completed', { job: { x: 1 }, key: '' }], 'the API key stays here')
    assert.deepEqual(await result(pool, fail), ['failed', 'The command exited with code 3. no luck'])
    assert.match(String((await result(pool, chat))[1]), /JSON/)
    for (const [payload, said] of [
      [{ nul: 1 }, 'A string in the output contains a NUL character.'],
      [{ zero: 1 }, 'The command exited with code 4. a\uFFFDb'],
    ] as const) {
      assert.deepEqual(await result(pool, await pool.submitJob({ payload })), ['failed', said])
    }
    const last = await pool.submitJob({ payload: { slow: 1 } })
    await until('it works on it', () =>
      stat(slow).then(
        () => true,
        () => false,
      ),
    )
    child.kill('SIGTERM')
    await pool.submitJob({ payload: { never: 1 } })
    await writeFile(go, '')
    assert.equal(await stopped(child), 0)
    await seen('submitted', 6)
    assert.deepEqual(await result(pool, last), ['completed', { slept: 1 }])
  })

  test('refuses a key file that others can read, and requires one of --exec, --module and --judge', async (t) => {
    const folder = await temporaryFolder()
    atEnd(t, () => rm(folder, { recursive: true, force: true }))
    const key = join(folder, 'key')
    await writeFile(key, '{}')
    await chmod(key, 0o644)
    const run = (...args: string[]) => reeve(['run', '--worker', '1', ...args], { WORKER_API_KEY: 'x' })

    const open = await run('--exec', 'cat', '--key', key)
    assert.deepEqual([open.status, open.stderr.includes('Others can read the key file')], [1, true])
    const neither = await run('--key', key)
    assert.deepEqual(
      [neither.status, neither.stderr],
      [2, 'Say how to run jobs, with one of --exec, --module and --judge.\n'],
    )
  })

  test('a module handles jobs; a cancelled one is aborted; a server that is away is waited for', async (t) => {
    const { pool, folder, key, env } = await withOwner(t, { env: { POOL_LEASE_SECONDS: '3' } })
    assert.equal((await reeve(['keygen', '--key', key])).status, 0)
    const { x } = JSON.parse(await readFile(key, 'utf8'))
    const { id } = (await pool.ask('POST', '/workers/register', { name: 'm', public_key: x }, pool.owner)).body
    const file = join(folder, 'handler.mjs')
    await writeFile(
      file,
      `export async function handle(job, { signal, text }) {
         if (job.wait) await new Promise((_, no) => signal.addEventListener('abort', () => no(new Error('aborted'))))
         return { output: { sum: job.a + job.b, text }, metrics: { ms: 1 } }
       }`,
    )

    const { child, seen } = startWorker(
      t,
      ['--worker', String(id), '--module', file, '--key', key, '--url', pool.url],
      env,
    )
    const stuck = await pool.submitJob({ payload: { wait: true } })
    await seen('assigned')
    await pool.ask('POST', `/v1/jobs/${stuck}/cancel`, undefined, pool.client)
    await seen('cancelled')
    const jobId = await pool.submitJob({ payload: { a: 1, b: 2 } })

    assert.deepEqual(await result(pool, jobId), ['completed', { sum: 3, text: '{"a":1,"b":2}' }])
    await pool.stop()
    await seen('trouble')
    child.kill('SIGTERM')
    assert.equal(await stopped(child), 0)
  })
})

describe('the worker of the SDK', () => {
  test('keeps a long job by heartbeats past its lease, and logs in again when its token has expired', async (t) => {
    // So long that a heartbeat comes in time although the machine pauses for some seconds.
    const pool = await setup(t, { env: { POOL_LEASE_SECONDS: '10' } })
    const worker = await pool.worker('sdk')
    const login = () => ReeveClient.login({ url: pool.url, username: 'owner', password: 'a long password' })
    const events: WorkerEvent[] = []
    const stopping = new AbortController()
    const { promise: released, resolve: release } = promiseOf()
    const jwk = parsePrivateKey(worker.privateKey.export({ format: 'jwk' }))

    const running = runWorker({
      client: new ReeveClient({ url: pool.url, token: '0'.repeat(64) }),
      login,
      workerId: worker.id,
      key: jwk,
      waitSec: 1,
      signal: stopping.signal,
      onEvent: (event) => events.push(event),
      handler: async (_, { text }) => {
        await released
        return { outputText: `{"raw": ${text}, "b": 1.0, "a": 12345678901234567890}` }
      },
    })
    const jobId = await pool.submitJob({ payload: { n: 1 } })
    await until('it is at work', () => events.some(({ type }) => type === 'assigned'))
    const { attempt_id: attempt, lease_until: lease } = await ledgerJob(pool, jobId)
    await until(
      'more than a lease has passed',
      async () => Date.parse((await ledgerJob(pool, jobId)).lease_until) - Date.parse(lease) > 10_000,
    )
    release()

    const job = await pool.job(jobId, 20)
    assert.deepEqual([job.status, job.result.output_hash_matches], ['completed', true])
    assert.equal(job.result.output_hash, sha256('{"a":12345678901234567890,"b":1.0,"raw":{"n":1}}'))
    assert.equal((await ledgerJob(pool, jobId)).attempt_id, attempt)
    assert(!events.some(({ type }) => type === 'trouble'))
    stopping.abort()
    await running
  })
})

const ledgerJob = async (pool: Pool, jobId: string) =>
  (await pool.ask('GET', `/admin/jobs/${jobId}`, undefined, pool.admin)).body

function promiseOf() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve: () => resolve() }
}

describe('examples/worker.py', () => {
  const skip = spawnSync('python3', ['--version']).status === 0 ? false : 'python3 is not installed'

  test('polls, works, hashes, signs and submits with nothing but the standard library', { skip }, async (t) => {
    const { pool, apiKey, key } = await withOwner(t)
    assert.equal((await reeve(['keygen', '--key', key])).status, 0)
    const { x } = JSON.parse(await readFile(key, 'utf8'))
    const { id } = (await pool.ask('POST', '/workers/register', { name: 'python', public_key: x }, pool.owner)).body
    const env = {
      ...process.env,
      WORKER_ID: String(id),
      WORKER_KEY: key,
      WORKER_API_KEY: apiKey,
      SERVER: pool.url,
      WAIT: '1',
    }
    const child = spawn('python3', ['examples/worker.py'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
    killedAtEnd(t, child)

    const good = await pool.submitJob({ payload: { prompt: 'hello é 😀' } })
    const bad = await pool.submitJob({ payload: { other: 1 } })

    assert.deepEqual(await result(pool, good), ['completed', { answer: 'HELLO É 😀', words: 3 }])
    assert.equal((await pool.job(good)).result.output_hash_matches, true)
    assert.deepEqual(await result(pool, bad), ['failed', "KeyError: 'prompt'"])
    child.kill('SIGTERM')
    assert.equal(await stopped(child), 0)
  })
})

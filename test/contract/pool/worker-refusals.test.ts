// What workers do when the server refuses a result, or its answer is lost: the worker of the SDK, and examples/worker.py
// as a process of its own.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test, type TestContext } from 'node:test'
import { migrationFolders } from '../../../src/doors/outline.ts'
import { freshDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'
import { pythonWorker, sdkWorker } from './example-workers.ts'
import { startLossyProxy } from './lossy-proxy.ts'
import { connect, setup, type Pool } from './setup.ts'

const skip = spawnSync('python3', ['--version']).status === 0 ? false : 'python3 is not installed'
const DEPTH = 120
const BODY_BYTES = 6_000_000

/** Statements that would wait longer than this for a lock fail. */
async function withShortLocks(t: TestContext) {
  const at = await freshDatabase(migrationFolders())
  const database = await connect(t, at)
  await database.query(`alter database ${at.database} set lock_timeout = '100ms'`)
  return { pool: await setup(t, { on: at }), database }
}

const endOf = async (pool: Pool, jobId: string) => {
  const job = await pool.job(jobId, 30)
  return [job.status, job.result?.output ?? job.error_message]
}

async function submitsOf(pool: Pool, outcome: string): Promise<number> {
  const text = await (await fetch(`${pool.url}/metrics/prometheus`)).text()
  return Number(new RegExp(`^pool_submits_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
}

/** Results cannot be stored until `release`: the server answers each submit with a conflict. */
async function lockResults({ pool, database }: Awaited<ReturnType<typeof withShortLocks>>) {
  await database.query('begin')
  await database.query('lock table pool_results in share mode')
  return async () => {
    await until('a submit is answered with a conflict', async () => (await submitsOf(pool, 'concurrent')) > 0)
    await database.query('rollback')
  }
}

/** How the first assignment ended, in the worker's own words. */
const WORKERS = [
  {
    name: 'worker.py',
    async start(t: TestContext, pool: Pool, url: string) {
      const { said } = await pythonWorker(t, pool, { url })
      const word = () => /^\d+ \d+ (.+)$/m.exec(said())?.[1]
      return async (expected: string) => {
        await until(`the worker said ${expected}`, () => word() !== undefined, said)
        return word()
      }
    },
  },
  {
    name: 'the worker of the SDK',
    async start(t: TestContext, pool: Pool, url: string) {
      const events = await sdkWorker(t, pool, async () => ({ output: { ok: true } }), url)
      const end = () => events.find(({ type }) => type === 'submitted' || type === 'cancelled' || type === 'refused')
      return async (expected: string) => {
        await until(
          `the worker said ${expected}`,
          () => end() !== undefined,
          () => events,
        )
        const event = end()
        return event?.type === 'submitted' ? event.status : event?.type
      }
    },
  },
]

describe('a result over the limits is replaced by an error_message, and the worker goes on', () => {
  test('the worker of the SDK: too deep, too large', async (t) => {
    const pool = await setup(t, { isShared: false })
    const events = await sdkWorker(t, pool, async (job) => {
      if (typeof job !== 'object' || job === null) return {}
      if ('deep' in job) return { outputText: `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}` }
      return { output: { answer: 'large' in job ? 'x'.repeat(BODY_BYTES) : 'small' } }
    })

    const [deep = '', large = '', small = ''] = await Promise.all(
      [{ deep: 1 }, { large: 1 }, { small: 1 }].map((payload) => pool.submitJob({ payload })),
    )

    const [status, message] = await endOf(pool, deep)
    assert.equal(status, 'failed')
    assert.match(message, /^Result refused\. 422: .*nested deeper than 100 levels/)
    const [largeStatus, largeMessage] = await endOf(pool, large)
    assert.equal(largeStatus, 'failed')
    assert.match(largeMessage, /^Result refused\. 413: /)
    assert.deepEqual(await endOf(pool, small), ['completed', { answer: 'small' }])
    assert(!events.some(({ type }) => type === 'refused' || type === 'trouble'), JSON.stringify(events))
  })

  test('worker.py as it is: an output that is too large', { skip }, async (t) => {
    const pool = await setup(t, { isShared: false })
    await pythonWorker(t, pool)

    // In upper case it is two characters: two bytes become three.
    const large = await pool.submitJob({ payload: { prompt: 'ŉ'.repeat(BODY_BYTES / 3) } })
    const small = await pool.submitJob({ payload: { prompt: 'small' } })

    const [status, message] = await endOf(pool, large)
    assert.equal(status, 'failed')
    assert.match(message, /^Result refused\. 413: /)
    assert.deepEqual(await endOf(pool, small), ['completed', { answer: 'SMALL', words: 1 }])
  })

  test('worker.py with another work function: too deep, a NUL, half of a surrogate pair', { skip }, async (t) => {
    const pool = await setup(t, { isShared: false })
    const work = `
def work(job, cancelled):
    value = 1
    for _ in range(${DEPTH} if "deep" in job else 1):
        value = {"a": value}
    text = "\\0" if "nul" in job else "\\ud800" if "half" in job else "small"
    return {"value": value, "text": text}`
    await pythonWorker(t, pool, { work })

    const said: Record<string, RegExp> = {
      deep: /^Result refused\. 422: .*nested deeper than 100 levels/,
      nul: /^Result refused\. 400: A string holds a NUL character/,
      half: /^UnicodeEncodeError: /,
    }
    for (const [name, expected] of Object.entries(said)) {
      const [status, message] = await endOf(pool, await pool.submitJob({ payload: { [name]: 1 } }))
      assert.equal(status, 'failed')
      assert.match(message, expected)
    }
    const small = await pool.submitJob({ payload: { small: 1 } })
    assert.deepEqual(await endOf(pool, small), ['completed', { value: { a: 1 }, text: 'small' }])
  })
})

describe('a submit that failed transiently is repeated', () => {
  test('409 Concurrent submission conflict: the worker of the SDK', async (t) => {
    const server = await withShortLocks(t)
    const events = await sdkWorker(t, server.pool, async () => ({ output: { ok: true } }))
    const release = await lockResults(server)

    const jobId = await server.pool.submitJob()
    await release()

    assert.deepEqual(await endOf(server.pool, jobId), ['completed', { ok: true }])
    // A worker that gives up gets the same assignment from its next poll.
    assert.equal(events.filter(({ type }) => type === 'assigned').length, 1, JSON.stringify(events))
  })

  test('409 Concurrent submission conflict: worker.py', { skip }, async (t) => {
    const server = await withShortLocks(t)
    const worker = await pythonWorker(t, server.pool)
    const release = await lockResults(server)

    const jobId = await server.pool.submitJob({ payload: { prompt: 'again' } })
    await release()

    assert.deepEqual(await endOf(server.pool, jobId), ['completed', { answer: 'AGAIN', words: 1 }])
    await until('the submit is over', () => worker.said().includes('200 completed'), worker.said)
    assert(!worker.said().includes('409'), worker.said())
  })

  for (const { name, start } of WORKERS) {
    const options = name === 'worker.py' ? { skip } : {}

    test(`${name}: the answer to its submit is lost, and the repeat finds the result recorded`, options, async (t) => {
      const pool = await setup(t, { isShared: false })
      const url = await startLossyProxy(t, pool.url, ({ forward }) => forward())
      const ended = await start(t, pool, url)

      const jobId = await pool.submitJob({ payload: { prompt: 'once' } })

      assert.equal(await ended('recorded'), 'recorded')
      assert.equal((await pool.job(jobId)).status, 'completed')
      assert.deepEqual([await submitsOf(pool, 'completed'), await submitsOf(pool, 'already_submitted')], [1, 1])
    })

    test(
      `${name}: told of a cancellation while the answer is unknown, it still finds the result recorded`,
      options,
      async (t) => {
        const pool = await setup(t, { isShared: false })
        const url = await startLossyProxy(t, pool.url, async ({ forward, cancel, cancelled }) => {
          await forward()
          cancel()
          await cancelled
        })
        const ended = await start(t, pool, url)

        const jobId = await pool.submitJob({ payload: { prompt: 'once' } })

        assert.equal(await ended('recorded'), 'recorded')
        assert.equal((await pool.job(jobId)).status, 'completed')
      },
    )

    test(
      `${name}: cancelled before its submit reached the server, it says cancelled and goes on`,
      options,
      async (t) => {
        const pool = await setup(t, { isShared: false })
        const jobId = await pool.submitJob({ payload: { prompt: 'never' } })
        const url = await startLossyProxy(t, pool.url, async ({ cancelled }) => {
          await pool.ask('POST', `/v1/jobs/${jobId}/cancel`, undefined, pool.client)
          await cancelled
        })
        const ended = await start(t, pool, url)

        assert.equal(await ended('cancelled'), 'cancelled')
        assert.equal((await pool.job(jobId)).status, 'cancelled')
        const next = await pool.submitJob({ payload: { prompt: 'next' } })
        assert.equal((await pool.job(next, 30)).status, 'completed')
      },
    )
  }
})

test('worker.py: a cancelled job is signalled to its work and not submitted; the next one is', { skip }, async (t) => {
  const pool = await setup(t, { isShared: false })
  const work = `
def work(job, cancelled):
    if "wait" in job:
        cancelled.wait()
    return {"ok": True}`
  const worker = await pythonWorker(t, pool, { work })
  const stuck = await pool.submitJob({ payload: { wait: 1 } })
  await until('it is at work', async () => (await pool.job(stuck)).status === 'running')

  await pool.ask('POST', `/v1/jobs/${stuck}/cancel`, undefined, pool.client)
  await until('the worker dropped it', () => worker.said().includes('cancelled'), worker.said)

  const next = await pool.submitJob({ payload: { next: 1 } })
  assert.deepEqual(await endOf(pool, next), ['completed', { ok: true }])
  assert.equal((await pool.job(stuck)).status, 'cancelled')
  assert.equal(await submitsOf(pool, 'not_submittable'), 0)
})

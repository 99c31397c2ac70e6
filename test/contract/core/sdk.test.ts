// The SDK's client against a real server, over real HTTP.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { ReeveClient, ReeveError } from '@reeve/sdk'
import { setup } from './setup.ts'

async function connect(t: TestContext) {
  const { http, account, identity, engine } = await setup(t)
  const { token, accountId } = await account('boss', ['ADMIN'])
  const { url } = await http.listen()
  const { ledger } = engine
  const finish = async (jobId: string, result: unknown) => {
    const taken = await ledger.acquire({ jobId, owner: 'w1', leaseMs: 60_000 })
    assert(taken.ok)
    assert((await ledger.finalize({ jobId, attemptId: 1, owner: 'w1', result })).ok)
  }
  return { url, token, reeve: new ReeveClient({ url, token }), identity, accountId, finish }
}

describe('the jobs client', () => {
  test('a login gives a client that may submit, wait for the end and read the history', async (t) => {
    const { url, finish } = await connect(t)
    const reeve = await ReeveClient.login({ url, username: 'boss', password: 'boss password' })

    const { job_id: jobId, state } = await reeve.jobs.submit({ kind: 'echo', payload: { n: 1 } })
    const waiting = reeve.jobs.wait(jobId, { timeoutMs: 30_000 })
    await finish(jobId, { n: 1 })
    const job = await waiting

    assert.equal(state, 'pending')
    assert.equal(job.state, 'done')
    assert.deepEqual(job.result, { n: 1 })
    assert.deepEqual(
      job.history.map((entry) => entry.what),
      ['submitted', 'acquired', 'done'],
    )
  })

  test('the same key names the same job, and another body with it is refused with the reason', async (t) => {
    const { reeve } = await connect(t)
    const key = { idempotencyKey: 'order-17' }

    const first = await reeve.jobs.submit({ kind: 'echo', payload: 1 }, key)
    const again = await reeve.jobs.submit({ kind: 'echo', payload: 1 }, key)

    assert.deepEqual(again, first)
    await assert.rejects(reeve.jobs.submit({ kind: 'echo', payload: 2 }, key), (error: unknown) => {
      assert(error instanceof ReeveError)
      assert.equal(error.status, 422)
      assert.match(error.message, /another body/)
      assert.match(error.requestId ?? '', /^[\w-]+$/)
      return true
    })
  })

  test('a wait that runs out of time answers with the job as it is', async (t) => {
    const { reeve } = await connect(t)
    const { job_id: jobId } = await reeve.jobs.submit({ kind: 'echo', payload: 1 })

    const job = await reeve.jobs.wait(jobId, { timeoutMs: 1 })

    assert.equal(job.state, 'pending')
  })

  test('a cancelled job is listed as dead and replayed once as a new one', async (t) => {
    const { reeve } = await connect(t)
    const { job_id: jobId } = await reeve.jobs.submit({ kind: 'echo', payload: 1 })

    await reeve.jobs.cancel(jobId, 'not wanted')
    const dead = await reeve.jobs.list({ state: 'dead', limit: 5 })
    const replayed = await reeve.jobs.replay(jobId)
    const again = await reeve.jobs.replay(jobId)

    assert.deepEqual(
      dead.jobs.map((job) => [job.job_id, job.reason]),
      [[jobId, 'not wanted']],
    )
    assert.deepEqual(again, replayed)
    assert.equal((await reeve.jobs.get(replayed.job_id)).replay_of, jobId)
  })

  test('an API key speaks for its account', async (t) => {
    const { url, token, identity, accountId } = await connect(t)
    const made = await identity.createApiKey(accountId, { token, name: 'program', scopes: null, expiresAt: null })
    assert(made.ok)

    const { jobs } = await new ReeveClient({ url, apiKey: made.secret }).jobs.list()

    assert.deepEqual(jobs, [])
  })
})

// The SDK's client and the example Solvers speak the protocol; both Solvers pass the same test.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test, type TestContext } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { atEnd } from '../../support/cleanup.ts'
import { freePort } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import {
  account,
  CHAL_KEY,
  get,
  nowSec,
  post,
  postSigned,
  signedHeaders,
  solveBody,
  SOLVER_KEY,
  startReceiver,
  startServer,
} from './setup.ts'

async function startExample(t: TestContext, command: string, file: string): Promise<string> {
  const port = await freePort()
  const env = { ...process.env, SOLVER_SECRET: SOLVER_KEY.secret, CHAL_SECRET: CHAL_KEY.secret, PORT: String(port) }
  const child = spawn(command, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  atEnd(t, () => child.kill('SIGKILL'))
  await once(child.stdout, 'data') // it says that it listens
  child.stdout.resume()
  return `http://127.0.0.1:${port}`
}

describe('the challenges client', () => {
  test('creates, sends, shows and lists', async (t) => {
    const solver = await startServer(t)
    const { url } = await startServer(t, {
      env: { SOLVER_URL: solver.url, PUBLIC_CALLBACK_HOST: 'http://127.0.0.1:1' },
    })
    const { authorization } = await account(url, 'owner')
    const { challenges } = new ReeveClient({ url, token: authorization.replace('Bearer ', '') })

    const made = await challenges.create({
      problem: { type: 'math', expression: '1+1' },
      validation_rule: { type: 'NumericTolerance', params: { tolerance: 0 } },
      answer: '2',
    })
    await challenges.send(made.challenge_id)
    await until('it is accepted', async () => (await challenges.get(made.challenge_id)).state === 'accepted')

    const { deliveries, solver_job_id: jobId } = await challenges.get(made.challenge_id)
    assert.equal(jobId, `solver_job_${made.challenge_id}`)
    assert.equal(deliveries[0]?.status_code, 202)
    assert.equal((await challenges.list()).challenges.length, 1)
    await assert.rejects(() => challenges.get('nobody'), /404: There is no such challenge/)
  })
})

describe('examples', () => {
  const examples = [
    [process.execPath, 'examples/solver.js'],
    ['python3', 'examples/solver.py'],
  ] as const
  for (const [command, file] of examples) {
    test(`${file} solves what a Challenger sends, and refuses what is not signed or comes twice`, async (t) => {
      const solver = await startExample(t, command, file)
      const port = String(await freePort())
      const here = `http://127.0.0.1:${port}`
      const { url } = await startServer(t, { env: { SERVER_PORT: port, PUBLIC_CALLBACK_HOST: here } })
      const owner = await account(url, 'owner')
      const challenge = {
        challenge_id: 'c1',
        problem: { type: 'text', operation: 'reverse', text: 'stressed' },
        validation_rule: { type: 'ExactMatch' },
        answer: 'desserts',
      }
      await post(`${url}/challenges`, JSON.stringify(challenge), owner)

      await post(`${url}/challenges/c1/send`, JSON.stringify({ solver_url: solver }), owner)
      const show = async () => (await get(`${url}/challenges/c1`, owner)).body
      await until('the challenge is completed', async () => (await show()).state === 'completed')

      assert.equal((await show()).results[0].is_correct, true)
      const body = solveBody('c2', `${here}/callback/c2`)
      assert.equal((await post(`${solver}/solve`, '{}')).body.error.code, 'MISSING_AUTH')
      assert.equal((await post(`${solver}/solve`, '{}', { authorization: 'Bearer x' })).body.error.code, 'INVALID_AUTH')
      const first = await postSigned(solver, '/solve', body, { nonce: 'n1' })
      assert.deepEqual(
        [first.status, first.body],
        [202, { message: 'Challenge accepted', solver_job_id: 'solver_job_c2' }],
      )
      const again = await postSigned(solver, '/solve', body)
      assert.deepEqual(
        [again.status, again.body],
        [202, { message: 'Challenge already accepted', solver_job_id: 'solver_job_c2' }],
      )
      const stale = await postSigned(solver, '/solve', body, { ts: nowSec() - 310 })
      assert.equal(stale.body.error.code, 'INVALID_SIGNATURE')
      assert.equal((await postSigned(solver, '/solve', body, { nonce: 'n1' })).body.error.code, 'REPLAY_ATTACK')
      const forged = await postSigned(solver, '/solve', body, { key: { ...SOLVER_KEY, secret: 'x' } })
      assert.equal(forged.body.error.code, 'INVALID_SIGNATURE')
    })

    test(`${file} fails problems of unknown types, and retries a callback with the same body and X-Request-ID`, async (t) => {
      const solver = await startExample(t, command, file)
      const receiver = await startReceiver(t, [503, 429, 200])

      const body = solveBody('c1', `${receiver.url}/base/callback/c1`, { problem: { type: 'riddle' } })
      await postSigned(solver, '/solve', body)
      await until('the callback was retried', () => receiver.received.length === 3)

      const [first, ...others] = receiver.received
      const { status, error_code: code, answer } = JSON.parse(first?.body ?? '')
      assert.deepEqual([status, code, answer], ['failed', 'UNSUPPORTED_PROBLEM', undefined])
      for (const { body, headers } of others) {
        assert.equal(body, first?.body)
        assert.equal(headers['x-request-id'], first?.headers['x-request-id'])
        assert.notEqual(headers.authorization, first?.headers.authorization)
      }
      const [, ts, nonce] = /ts=(\d+),nonce=([^,]+)/.exec(first?.headers.authorization ?? '') ?? []
      const signing = { key: CHAL_KEY, ts: Number(ts), nonce: nonce ?? '' }
      const expected = signedHeaders('/callback/c1', first?.body ?? '', signing)['authorization']
      assert.equal(first?.headers.authorization, expected)
    })
  }
})

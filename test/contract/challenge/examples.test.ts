// The example Solvers speak the protocol: both pass the same test.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test, type TestContext } from 'node:test'
import { atEnd } from '../../support/cleanup.ts'
import { freePort } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { account, CHAL_KEY, get, post, postSigned, solveBody, SOLVER_KEY, startServer } from './setup.ts'

async function startExample(t: TestContext, command: string, file: string): Promise<string> {
  const port = await freePort()
  const env = { ...process.env, SOLVER_SECRET: SOLVER_KEY.secret, CHAL_SECRET: CHAL_KEY.secret, PORT: String(port) }
  const child = spawn(command, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  atEnd(t, () => child.kill('SIGKILL'))
  await once(child.stdout, 'data') // it says that it listens
  child.stdout.resume()
  return `http://127.0.0.1:${port}`
}

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
      assert.equal((await postSigned(solver, '/solve', body, { nonce: 'n1' })).status, 202)
      assert.equal((await postSigned(solver, '/solve', body, { nonce: 'n1' })).body.error.code, 'REPLAY_ATTACK')
      const forged = await postSigned(solver, '/solve', body, { key: { ...SOLVER_KEY, secret: 'x' } })
      assert.equal(forged.body.error.code, 'INVALID_SIGNATURE')
    })
  }
})

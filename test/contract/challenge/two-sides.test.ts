// Both flows at once: two servers, a Challenger and a Solver, play the two sides against each other.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { freePort } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { account, FEEDS, get, post, startServer } from './setup.ts'

describe('challenge: both sides', () => {
  for (const feed of FEEDS) {
    test(`challenge 7.1: two servers play the two sides against each other (${feed})`, async (t) => {
      const solver = await startServer(t, { feed })
      const port = String(await freePort())
      const here = `http://127.0.0.1:${port}`
      const env = { SERVER_PORT: port, SOLVER_URL: solver.url, PUBLIC_CALLBACK_HOST: here }
      const { url } = await startServer(t, { feed, env })
      const owner = await account(url, 'owner')
      const challenges = [
        { challenge_id: 'sum', problem: { type: 'math', expression: '17*23+4' }, answer: '395' },
        { challenge_id: 'word', problem: { type: 'text', operation: 'reverse', text: 'abc' }, answer: 'xyz' },
      ]
      for (const challenge of challenges) {
        const body = JSON.stringify({ validation_rule: { type: 'ExactMatch' }, ...challenge })
        assert.equal((await post(`${url}/challenges`, body, owner)).status, 201)
      }

      const show = async (id: string) => (await get(`${url}/challenges/${id}`, owner)).body
      for (const id of ['sum', 'word']) await post(`${url}/challenges/${id}/send`, '{}', owner)
      await until('both are completed', async () =>
        (await Promise.all(['sum', 'word'].map(show))).every((one) => one.state === 'completed'),
      )

      const [sum, word] = await Promise.all(['sum', 'word'].map(show))
      assert.deepEqual([sum.results.length, sum.results[0].answer, sum.results[0].is_correct], [1, '395', true])
      assert.deepEqual([word.results.length, word.results[0].answer, word.results[0].is_correct], [1, 'cba', false])
      assert.equal(sum.solver_job_id, 'solver_job_sum')
    })
  }
})

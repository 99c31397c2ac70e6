// The challenge door's `code` problems are judged here: the verdict is the answer.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cannotTest } from '../../judge/rig.ts'
import { until } from '../../support/until.ts'
import { CHAL_KEY, postSigned, solveBody, SOLVER_KEY, startReceiver } from '../challenge/setup.ts'
import { ask, setup, TWICE } from './setup.ts'

const ENV = {
  DOORS: 'judge,challenge',
  SOLVER_HMAC_SECRET: SOLVER_KEY.secret,
  CHAL_HMAC_SECRET: CHAL_KEY.secret,
  ALLOW_INSECURE_CALLBACKS: 'true',
  OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
}

describe('challenge: a code problem', { skip: cannotTest }, () => {
  test('judge 8.1: a code problem is judged like a submission, and its verdict is called back', async (t) => {
    const { url, ann } = await setup(t, { env: ENV })
    const receiver = await startReceiver(t)
    const problems = [TWICE.accepted, TWICE.wrong].map((code) => ({
      type: 'code',
      problem_id: 'twice',
      language: 'c',
      code,
    }))

    for (const [n, problem] of problems.entries())
      assert.equal(
        (await postSigned(url, '/solve', solveBody(`c${n}`, `${receiver.url}/c${n}`, { problem }))).status,
        202,
      )
    await until('both were called back', () => receiver.received.length === 2)

    const answers = new Map(receiver.received.map(({ path, body }) => [path, JSON.parse(body)]))
    assert.deepEqual([answers.get('/c0').status, answers.get('/c0').answer], ['success', 'AC'])
    assert.deepEqual([answers.get('/c1').status, answers.get('/c1').answer], ['success', 'WA'])
    const { solver, status_text: text, job_id: jobId } = answers.get('/c0').metadata
    assert.deepEqual([solver, text], ['code', 'Accepted'])
    assert.equal((await ask(`${url}/status/${jobId}`, { headers: ann })).status, 404, 'it is nobody’s submission')
  })

  test('judge 8.2: a code problem with an unknown problem or language fails with INVALID_PROBLEM', async (t) => {
    const { url } = await setup(t, { env: ENV, role: 'up' })
    const receiver = await startReceiver(t)
    const problems = [
      { type: 'code', problem_id: 'nowhere', language: 'c', code: 'x' },
      { type: 'code', problem_id: 'twice', language: 'cobol', code: 'x' },
      { type: 'code', problem_id: 'twice', language: 'c' },
    ]

    for (const [n, problem] of problems.entries())
      await postSigned(url, '/solve', solveBody(`c${n}`, `${receiver.url}/c${n}`, { problem }))
    await until('all were called back', () => receiver.received.length === 3)

    for (const { body } of receiver.received) {
      const { status, error_code: code, error_message: message } = JSON.parse(body)
      assert.deepEqual([status, code], ['failed', 'INVALID_PROBLEM'])
      assert.match(message, /no such problem|language must be one of|must be strings/)
    }
  })
})

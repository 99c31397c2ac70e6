// Speaks as an existing Solver or Challenger of this protocol does, over HTTP only.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { account, CHAL_KEY, get, post, postSigned, signedHeaders, startServer } from '../../contract/challenge/setup.ts'

async function setup(t: TestContext, env: Record<string, string> = {}) {
  const { url } = await startServer(t, { role: 'serve', env })
  const owner = await account(url, 'owner')
  const create = (challenge: object) =>
    post(`${url}/challenges`, JSON.stringify({ problem: { type: 'text' }, ...challenge }), owner)
  const callback = (id: string, body: object, headers: Record<string, string> = {}) =>
    postSigned(url, `/callback/${id}`, { challenge_id: id, solver_job_id: 'j', ...body }, { key: CHAL_KEY, headers })
  const show = async (id: string) => (await get(`${url}/challenges/${id}`, owner)).body
  return { url, owner, create, callback, show }
}

describe('an existing Solver calls back', () => {
  test('a callback without api_version is taken, one with another version is not', async (t) => {
    const { create, callback, show } = await setup(t)
    await create({ challenge_id: 'c1', answer: '2', validation_rule: { type: 'ExactMatch', params: {} } })

    const other = await callback('c1', { api_version: 'v1', status: 'success', answer: '2' })
    const none = await callback('c1', { status: 'success', answer: '2' })

    assert.equal(other.body.error.code, 'UNSUPPORTED_VERSION')
    assert.deepEqual(none.body, { received: true, challenge_id: 'c1', duplicate: false })
    assert.equal((await show('c1')).results[0].is_correct, true)
  })

  test('unknown fields of the Authorization header are ignored', async (t) => {
    const { url, create } = await setup(t)
    await create({ challenge_id: 'c1', answer: '2', validation_rule: { type: 'ExactMatch' } })
    const body = JSON.stringify({ challenge_id: 'c1', status: 'success', answer: '2' })
    const { authorization = '', ...headers } = signedHeaders('/callback/c1', body, { key: CHAL_KEY })

    const answer = await post(`${url}/callback/c1`, body, { ...headers, authorization: `${authorization},algo=v1` })

    assert.equal(answer.status, 200)
  })

  test('X-Solver-Address and every other header but secrets is in the audit', async (t) => {
    const { create, callback, show } = await setup(t)
    await create({ challenge_id: 'c1', answer: '2', validation_rule: { type: 'ExactMatch' } })

    const headers = { 'x-solver-address': '0xabc', 'x-trace': 't1', cookie: 'session=1', 'x-api-key': 'key' }
    await callback('c1', { status: 'success', answer: '2' }, headers)

    const [audited] = (await show('c1')).callbacks
    assert.equal(audited.headers['x-solver-address'], '0xabc')
    assert.equal(audited.headers['x-trace'], 't1')
    assert.match(audited.headers.authorization, /nonce=.*sig=…$/)
    assert.doesNotMatch(JSON.stringify(audited.headers), /session=1|"key"|[0-9a-f]{64}/)
  })
})

describe('an existing Challenger’s rules', () => {
  test('params {} take their defaults: case-sensitive, tolerance 0', async (t) => {
    const { create, callback, show } = await setup(t)
    const judged = async (id: string, type: string, answer: string, given: string) => {
      await create({ challenge_id: id, answer, validation_rule: { type, params: {} } })
      await callback(id, { status: 'success', answer: given })
      return (await show(id)).results[0].is_correct
    }

    assert.deepEqual(
      [
        await judged('a', 'ExactMatch', 'A', 'a'),
        await judged('b', 'NumericTolerance', '0.30', '0.3'),
        await judged('c', 'NumericTolerance', '0.3', '0.30000000000000004'),
      ],
      [false, true, false],
    )
  })

  test('a number of as many digits as an answer may have is compared, off the serving thread', async (t) => {
    const { create, callback, show } = await setup(t)
    const rule = { type: 'NumericTolerance', params: { tolerance: 1 } }
    const digits = '7'.repeat(999_999)
    assert.equal((await create({ challenge_id: 'c1', answer: `${digits}1`, validation_rule: rule })).status, 201)

    await callback('c1', { status: 'success', answer: `${digits}2` })
    await callback('c1', { status: 'success', answer: `${digits}3` })

    const { results } = await show('c1')
    assert.deepEqual(
      results.map((result: { is_correct: boolean }) => result.is_correct),
      [true, false],
    )
  })

  test('constraints of 0 count as not set', async (t) => {
    const { create } = await setup(t)
    const constraints = { timeout_ms: 0, deadline_ts: 0 }

    const made = await create({ answer: '2', validation_rule: { type: 'ExactMatch' }, constraints })

    assert.equal(made.status, 201)
  })
})

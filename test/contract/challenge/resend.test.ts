// What either side may repeat, and what the other side then does.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { until } from '../../support/until.ts'
import { account, CHAL_KEY, get, post, postSigned, solveBody, startReceiver, startServer } from './setup.ts'

const CHALLENGE = {
  challenge_id: 'c1',
  problem: { type: 'text' },
  validation_rule: { type: 'ExactMatch' },
  answer: '2',
}

describe('challenge: asking again', () => {
  test('challenge 3.6: a repeated /solve queues the delivered callback again, with its X-Request-ID, once a minute', async (t) => {
    const receiver = await startReceiver(t)
    const { url } = await startServer(t)
    const body = solveBody('c1', `${receiver.url}/callback/c1`)
    const stats = async () => (await get(`${url}/stats`)).body
    await postSigned(url, '/solve', body)
    await until('the callback came', () => receiver.received.length === 1) // before that, none may be pending yet
    await until('it was delivered', async () => (await stats()).callbacks_pending === 0)

    const again = await postSigned(url, '/solve', body)
    await until('it came again', () => receiver.received.length === 2)
    const tooSoon = await postSigned(url, '/solve', body)
    await postSigned(url, '/solve', solveBody('c2', `${receiver.url}/callback/c2`))
    await until('a later callback came', () => receiver.received.some(({ path }) => path === '/callback/c2'))

    assert.deepEqual([again.status, tooSoon.status], [202, 202])
    assert.equal(again.body.message, 'Challenge already accepted')
    const ofFirst = receiver.received.filter(({ path }) => path === '/callback/c1')
    assert.equal(ofFirst.length, 2)
    assert.equal(new Set(ofFirst.map(({ headers }) => headers['x-request-id'])).size, 1)
    assert.equal(new Set(ofFirst.map(({ body }) => body)).size, 1)
  })

  test('challenge 3.6: a repeated /solve queues a callback again that is a dead letter', async (t) => {
    const receiver = await startReceiver(t, [400, 200])
    const { url } = await startServer(t)
    const body = solveBody('c1', `${receiver.url}/callback/c1`)
    await postSigned(url, '/solve', body)
    await until('the callback is a dead letter', async () => {
      const { callbacks_dead: dead } = (await get(`${url}/stats`)).body
      return dead === 1
    })

    await postSigned(url, '/solve', body)
    await until('it was delivered', async () => {
      const { callbacks_dead: dead, callbacks_pending: pending } = (await get(`${url}/stats`)).body
      return receiver.received.length === 2 && dead === 0 && pending === 0
    })

    const [first, second] = receiver.received
    assert.equal(second?.headers['x-request-id'], first?.headers['x-request-id'])
    assert.equal(second?.body, first?.body)
  })

  test('challenge 6.12: a send with the same Idempotency-Key and body is sent once, with another body it is 422', async (t) => {
    const solver = await startReceiver(t, [202, 202])
    const { url } = await startServer(t, { env: { SOLVER_URL: solver.url, PUBLIC_CALLBACK_HOST: 'https://c.example' } })
    const owner = { ...(await account(url, 'owner')), 'idempotency-key': 'k1' }
    await post(`${url}/challenges`, JSON.stringify(CHALLENGE), owner)
    await post(`${url}/challenges`, JSON.stringify({ ...CHALLENGE, challenge_id: 'c2' }), {
      ...owner,
      'idempotency-key': 'k2',
    })

    const first = await post(`${url}/challenges/c1/send`, '{}', owner)
    const again = await post(`${url}/challenges/c1/send`, '{}', owner)
    const other = await post(`${url}/challenges/c1/send`, JSON.stringify({ solver_url: `${solver.url}/x` }), owner)
    const elsewhere = await post(`${url}/challenges/c2/send`, '{}', owner)
    await until('the Solver was asked', () => solver.received.length > 0)

    assert.deepEqual([first.status, again.status], [202, 202])
    assert.equal(again.body.request_id, first.body.request_id)
    assert.deepEqual([other.status, other.body.error.code], [422, 'IDEMPOTENCY_CONFLICT'])
    assert.equal(elsewhere.status, 422)
    const show = async () => (await get(`${url}/challenges/c1`, owner)).body
    await until('it was accepted', async () => (await show()).state === 'accepted')
    assert.equal(solver.received.length, 1)
  })

  test('challenge 6.11: a Solver that answers another 2xx than 202 has refused, and is not asked again', async (t) => {
    const solver = await startReceiver(t, [200])
    const { url } = await startServer(t, { env: { SOLVER_URL: solver.url, PUBLIC_CALLBACK_HOST: 'https://c.example' } })
    const owner = await account(url, 'owner')
    await post(`${url}/challenges`, JSON.stringify(CHALLENGE), owner)

    await post(`${url}/challenges/c1/send`, '{}', owner)
    const show = async () => (await get(`${url}/challenges/c1`, owner)).body
    await until('it was refused', async () => (await show()).state === 'send_failed')

    const { deliveries } = await show()
    assert.deepEqual(
      deliveries.map((one: { attempt: number; status_code: number }) => [one.attempt, one.status_code]),
      [[1, 200]],
    )
  })

  test('challenge 6.13: a sent challenge whose deadline passed without a result says so', async (t) => {
    const solver = await startReceiver(t, [202])
    const { url } = await startServer(t, { env: { SOLVER_URL: solver.url, PUBLIC_CALLBACK_HOST: 'https://c.example' } })
    const owner = await account(url, 'owner')
    const stateOf = async (id: string) => (await get(`${url}/challenges/${id}`, owner)).body.state
    await post(
      `${url}/challenges`,
      JSON.stringify({ ...CHALLENGE, constraints: { deadline_ts: 1_000_000_000 } }),
      owner,
    )

    const created = await stateOf('c1')
    await post(`${url}/challenges/c1/send`, '{}', owner)
    const sent = await stateOf('c1')
    const late = { challenge_id: 'c1', status: 'success', answer: '2' }
    await postSigned(url, '/callback/c1', late, { key: CHAL_KEY })

    assert.deepEqual([created, sent, await stateOf('c1')], ['created', 'deadline_passed', 'completed'])
  })

  test('challenge 1.11: during a rotation webhook-signature carries both keys’ signatures, Authorization one', async (t) => {
    const receiver = await startReceiver(t)
    const env = {
      CHAL_HMAC_EXTRA_KEYS: 'old=old secret@2999-01-01T00:00:00Z,gone=gone secret@2020-01-01T00:00:00Z',
    }
    const { url } = await startServer(t, { env })

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    await until('the callback came', () => receiver.received.length > 0)

    const [callback] = receiver.received
    const headers = Object.fromEntries(
      Object.entries(callback?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    )
    const verifies = (secret: string) => {
      try {
        new Webhook(Buffer.from(secret).toString('base64')).verify(callback?.body ?? '', headers)
        return true
      } catch {
        return false
      }
    }
    assert.deepEqual([verifies(CHAL_KEY.secret), verifies('old secret'), verifies('gone secret')], [true, true, false])
    assert.equal(headers['webhook-signature']?.split(' ').length, 2)
    assert.match(
      headers['authorization'] ?? '',
      /^RCS-HMAC-SHA256 keyId=chal-kid-1,ts=\d+,nonce=[^,]+,sig=[0-9a-f]{64}$/,
    )
  })
})

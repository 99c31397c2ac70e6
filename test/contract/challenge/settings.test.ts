// Clauses that need a server with its own settings.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { until } from '../../support/until.ts'
import {
  account,
  CHAL_KEY,
  get,
  login,
  nowSec,
  post,
  postSigned,
  signedHeaders,
  solveBody,
  SOLVER_KEY,
  startReceiver,
  startServer,
  type Received,
} from './setup.ts'

const CALLBACK = 'https://challenger.example/callback/c1'
const CHALLENGE = {
  challenge_id: 'c1',
  problem: { type: 'text' },
  validation_rule: { type: 'ExactMatch' },
  answer: '2',
}

/** Recomputes the signature for the nonce and time that were sent. */
function assertSigned(request: Received | undefined, path: string, key: typeof SOLVER_KEY): void {
  const { authorization = '' } = request?.headers ?? {}
  const [, keyId, ts, nonce] = /keyId=([^,]+),ts=(\d+),nonce=([^,]+),/.exec(authorization) ?? []
  const options = { key, ts: Number(ts), nonce: nonce ?? '' }
  assert.equal(authorization, signedHeaders(path, request?.body ?? '', options)['authorization'])
  assert.equal(keyId, key.keyId)
}

describe('challenge: signed requests', () => {
  test('challenge 1.7: CLOCK_SKEW_SECONDS limits how far ts may differ, in both directions', async (t) => {
    const { url } = await startServer(t, { role: 'serve', env: { CLOCK_SKEW_SECONDS: '60' } })
    const statusAt = async (offSec: number) =>
      (await postSigned(url, '/solve', solveBody('c1', CALLBACK), { ts: nowSec() + offSec })).status

    const statuses = [await statusAt(-50), await statusAt(50), await statusAt(-70), await statusAt(70)]

    assert.deepEqual(statuses, [202, 202, 401, 401])
  })

  test('challenge 1.8: a nonce is accepted once per side, whichever key signed', async (t) => {
    const extra = { SOLVER_HMAC_EXTRA_KEYS: 'other=other secret@2999-01-01T00:00:00Z' }
    const { url } = await startServer(t, { role: 'serve', env: extra })
    const solve = solveBody('c1', CALLBACK)
    const callback = { api_version: 'v2.1', challenge_id: 'c1', status: 'success' }
    const options = { nonce: 'n1' }

    const first = await postSigned(url, '/solve', solve, options)
    const other = { keyId: 'other', secret: 'other secret' }
    const again = await postSigned(url, '/solve', solve, { ...options, key: other })
    const elsewhere = await postSigned(url, '/callback/c1', callback, { ...options, key: CHAL_KEY })

    assert.deepEqual([first.status, again.body.error.code], [202, 'REPLAY_ATTACK'])
    assert.equal(elsewhere.body.error.code, 'CHALLENGE_NOT_FOUND') // its nonce was good
  })

  test('challenge 2.3: a large body is checked as a small one is, in both directions', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })
    const filler = 'é'.repeat(300_000)
    const codesOf = async (path: string, key: typeof SOLVER_KEY, good: object) => {
      const send = async (body: object | string) => {
        const answer = await postSigned(url, path, body, { key })
        return answer.body.error?.code ?? answer.status
      }
      const text = JSON.stringify(good)
      return [
        await send(text),
        await send(text.slice(1)),
        await send(`[${text}]`),
        await send({ ...good, nul: '\0' }),
        await send({ ...good, many: Array.from({ length: 60_000 }, () => []) }),
        await send({ ...good, many: Array.from({ length: 260_000 }, () => 1) }),
        await send({ ...good, api_version: 'v1' }),
        await send({ ...good, challenge_id: undefined }),
      ]
    }
    const bad = [...Array.from({ length: 5 }, () => 'INVALID_JSON'), 'UNSUPPORTED_VERSION', 'MISSING_CHALLENGE_ID']

    const solve = await codesOf('/solve', SOLVER_KEY, solveBody('c1', CALLBACK, { filler }))
    const callback = { api_version: 'v2.1', challenge_id: 'c1', status: 'success', answer: filler }
    const back = await codesOf('/callback/c1', CHAL_KEY, callback)

    assert.deepEqual(solve, [202, ...bad])
    assert.deepEqual(back, ['CHALLENGE_NOT_FOUND', ...bad])
  })

  test('challenge 2.4: CORS is open on this door and no other, and can be narrowed or closed', async (t) => {
    const originOf = async (url: string) => (await fetch(url)).headers.get('access-control-allow-origin')
    const open = await startServer(t, { role: 'serve' })
    const narrow = await startServer(t, { role: 'serve', env: { CHALLENGE_CORS_ORIGIN: 'https://a.example' } })
    const closed = await startServer(t, { role: 'serve', env: { CHALLENGE_CORS_ORIGIN: 'none' } })

    assert.deepEqual([await originOf(`${open.url}/stats`), await originOf(`${open.url}/auth/me`)], ['*', null])
    assert.equal(await originOf(`${narrow.url}/stats`), 'https://a.example')
    assert.equal(await originOf(`${closed.url}/stats`), null)
    const preflight = await fetch(`${open.url}/challenges/c1`, { method: 'OPTIONS' })
    assert.equal(preflight.status, 204)
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /Authorization/)
  })

  test('challenge 2.5: HTTPS_ONLY follows X-Forwarded-Proto of a trusted proxy', async (t) => {
    const { url } = await startServer(t, { role: 'serve', env: { HTTPS_ONLY: 'true', TRUST_PROXY: 'true' } })
    const statusOf = async (proto: string) =>
      (await fetch(`${url}/stats`, { headers: { 'x-forwarded-proto': proto }, redirect: 'manual' })).status

    assert.deepEqual([await statusOf('https'), await statusOf('http')], [200, 308])
  })
})

describe('challenge: sending', () => {
  test('challenge 1.4: a send is signed with the Solver’s key over /solve, and has Content-Type and X-Request-ID', async (t) => {
    const solver = await startReceiver(t, [202])
    const { url } = await startServer(t, {
      env: { SOLVER_URL: `${solver.url}/`, PUBLIC_CALLBACK_HOST: 'challenger.example/' },
    })
    const owner = await account(url, 'owner')
    const more = { output_spec: { format: 'decimal' }, constraints: { timeout_ms: 100, deadline_ts: 4_000_000_000 } }
    await post(`${url}/challenges`, JSON.stringify({ ...CHALLENGE, ...more }), owner)

    const sent = await post(`${url}/challenges/c1/send`, '{}', owner)
    await until('the Solver was asked', () => solver.received.length > 0)

    assert.equal(sent.status, 202)
    const [request] = solver.received
    assertSigned(request, '/solve', SOLVER_KEY)
    assert.equal(request?.headers['content-type'], 'application/json')
    assert.equal(request?.headers['x-request-id'], sent.body.request_id)
    const { output_spec, constraints, callback_url } = JSON.parse(request?.body ?? '')
    assert.deepEqual({ output_spec, constraints }, more)
    assert.equal(callback_url, 'https://challenger.example/callback/c1')
  })

  test('challenge 1.5: with SHARED_SECRET_KEY the Challenger accepts both key ids', async (t) => {
    const { url } = await startServer(t, { role: 'serve', env: { SHARED_SECRET_KEY: 'shared' } })
    await post(`${url}/challenges`, JSON.stringify(CHALLENGE), await account(url, 'owner'))
    const callback = (keyId: string, secret: string) =>
      postSigned(
        url,
        '/callback/c1',
        { api_version: 'v2.1', challenge_id: 'c1', status: 'success', answer: '2' },
        { key: { keyId, secret } },
      )

    const statuses = [
      (await callback('chal-kid-1', 'shared')).status,
      (await callback('solver-kid-1', 'shared')).status,
      (await callback('chal-kid-1', CHAL_KEY.secret)).status,
    ]

    assert.deepEqual(statuses, [200, 200, 401])
  })
})

describe('challenge: callbacks', () => {
  test('challenge 5.4: after six attempts a callback is a dead letter with its last error', async (t) => {
    const refuse = { status: 503, headers: { 'retry-after': '0' } }
    const receiver = await startReceiver(
      t,
      Array.from({ length: 7 }, () => (_request, response) => response.writeHead(refuse.status, refuse.headers).end()),
    )
    const { url } = await startServer(t)
    const admin = await login(url)

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    const dead = async () => (await get(`${url}/challenges/deliveries`, admin)).body.deliveries
    await until('it is a dead letter', async () => (await dead()).length === 1)

    const [letter] = await dead()
    assert.deepEqual([letter.challenge_id, letter.attempts, letter.last_error], ['c1', 6, 'HTTP 503'])
    assert.equal(receiver.received.length, 6)
    assert.equal((await get(`${url}/stats`)).body.callbacks_dead, 1)
  })

  test('challenge 1.3: the signed path is escaped as it is sent, without host and query', async (t) => {
    const receiver = await startReceiver(t)
    const { url } = await startServer(t)

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/caf%C3%A9%2F1/é?x=%20`))
    await until('the callback came', () => receiver.received.length === 1)

    assert.equal(receiver.received[0]?.path, '/callback/caf%C3%A9%2F1/%C3%A9?x=%20')
    assertSigned(receiver.received[0], '/callback/caf%C3%A9%2F1/%C3%A9', CHAL_KEY)
  })

  test('challenge 7.7: only the answer of a success is checked; the result keeps what was sent, and the audit how', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })
    const owner = await account(url, 'owner')
    await post(`${url}/challenges`, JSON.stringify(CHALLENGE), owner)
    const body = JSON.stringify({
      api_version: 'v2.1',
      challenge_id: 'c1',
      solver_job_id: 'theirs',
      status: 'success',
      metadata: { took_ms: 5 },
    })
    const headers = signedHeaders('/callback/c1', body, { key: CHAL_KEY, headers: { 'x-request-id': 'r1' } })

    await post(`${url}/callback/c1`, body, headers)

    const { results, callbacks } = (await get(`${url}/challenges/c1`, owner)).body
    const [{ created_at: created, ...result }] = results
    assert.deepEqual(result, {
      request_id: 'r1',
      solver_job_id: 'theirs',
      status: 'success',
      answer: null,
      error_code: null,
      error_message: null,
      is_correct: null,
      rule: 'ExactMatch',
      is_final: true,
      metadata: { took_ms: 5 },
    })
    assert.match(created, /^\d{4}-\d\d-\d\dT.*Z$/)
    const [audit] = callbacks
    assert.equal(audit.body_hash, createHash('sha256').update(body).digest('hex'))
    assert.deepEqual([audit.status_code, audit.outcome, audit.headers['x-request-id']], [200, 'recorded', 'r1'])
    assert.match(audit.headers.authorization, /^RCS-HMAC-SHA256 keyId=chal-kid-1,ts=\d+,nonce=[^,]+,sig=…$/)
  })
})

describe('challenge: health', () => {
  test('GET /healthz and GET /readyz answer on the same server', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })

    assert.deepEqual([(await fetch(`${url}/healthz`)).status, (await fetch(`${url}/readyz`)).status], [200, 200])
  })
})

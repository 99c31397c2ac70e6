import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { until } from '../../support/until.ts'
import {
  CHAL_KEY,
  FEEDS,
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

/** Half a minute of work. */
const SLOW = { type: 'text', operation: 'extract', pattern: '([ab]{1,100}){10}[cd]', text: 'ab'.repeat(200_000) }

const codeOf = (answer: { status: number; body: { error?: { code: string } } }) => [
  answer.status,
  answer.body.error?.code,
]

for (const feed of FEEDS)
  describe(`challenge: POST /solve (${feed})`, () => {
    test('challenge 3.1: a signed challenge is accepted with 202 and its solver_job_id, and again with the same', async (t) => {
      const receiver = await startReceiver(t)
      const { url } = await startServer(t, { feed })
      const body = solveBody('c1', `${receiver.url}/callback/c1`)

      const first = await postSigned(url, '/solve', body)
      const second = await postSigned(url, '/solve', body)

      assert.deepEqual(
        [first.status, first.body],
        [202, { message: 'Challenge accepted', solver_job_id: 'solver_job_c1' }],
      )
      assert.deepEqual(
        [second.status, second.body],
        [202, { message: 'Challenge already accepted', solver_job_id: 'solver_job_c1' }],
      )
      await until('the one callback came', () => receiver.received.length > 0)
    })

    test('challenge 2.2: header present → parsed → nonce → key → skew → signature, each with its code', async (t) => {
      const { url } = await startServer(t, { role: 'serve', feed })
      const text = JSON.stringify(solveBody('c1', 'https://challenger.example/callback/c1'))
      const send = async (options: object, body = text) => codeOf(await postSigned(url, '/solve', body, options))

      assert.deepEqual(codeOf(await post(`${url}/solve`, text)), [401, 'MISSING_AUTH'])
      assert.deepEqual(codeOf(await post(`${url}/solve`, text, { authorization: 'Bearer x' })), [401, 'INVALID_AUTH'])
      assert.deepEqual(await send({ key: { ...SOLVER_KEY, keyId: 'nobody' } }), [401, 'INVALID_SIGNATURE'])
      assert.deepEqual(await send({ key: CHAL_KEY }), [401, 'INVALID_SIGNATURE'])
      assert.deepEqual(await send({ key: { ...SOLVER_KEY, secret: 'wrong' } }), [401, 'INVALID_SIGNATURE'])
      assert.deepEqual(await send({ ts: nowSec() - 310 }), [401, 'INVALID_SIGNATURE'])
      assert.deepEqual(await send({ ts: nowSec() + 310 }), [401, 'INVALID_SIGNATURE'])
      assert.deepEqual(await send({ signedPath: '/callback' }), [401, 'INVALID_SIGNATURE'])
      assert.deepEqual(await send({ ts: nowSec() - 290, nonce: 'n1' }), [202, undefined])
      assert.deepEqual(await send({ ts: nowSec() - 290, nonce: 'n1' }), [401, 'REPLAY_ATTACK'])
      // A burnt nonce is named before an unknown key.
      assert.deepEqual(await send({ key: { ...SOLVER_KEY, keyId: 'nobody' }, nonce: 'n1' }), [401, 'REPLAY_ATTACK'])
    })

    test('challenge 2.1: the error body is {"error":{"code","message","request_id"}}', async (t) => {
      const { url } = await startServer(t, { role: 'serve', feed })

      const { body, headers } = await post(`${url}/solve`, '{}', { 'x-request-id': 'mine' })

      assert.deepEqual(Object.keys(body), ['error'])
      assert.deepEqual(Object.keys(body.error), ['code', 'message', 'request_id'])
      assert.equal(body.error.request_id, 'mine')
      assert.equal(headers.get('access-control-allow-origin'), '*')
    })

    test('challenge 1.3: a query is not part of the signed path', async (t) => {
      const { url } = await startServer(t, { role: 'serve', feed })
      const body = JSON.stringify(solveBody('c1', 'https://challenger.example/callback/c1'))

      const answer = await post(`${url}/solve?x=1`, body, signedHeaders('/solve', body))

      assert.equal(answer.status, 202)
    })

    test('challenge 3.2: INVALID_JSON, UNSUPPORTED_VERSION, MISSING_CHALLENGE_ID and INVALID_CALLBACK_URL, in this order', async (t) => {
      const { url } = await startServer(t, { role: 'serve', feed })
      const good = solveBody('c1', 'https://challenger.example/callback/c1')
      const send = async (body: object | string) => codeOf(await postSigned(url, '/solve', body))

      for (const body of ['', '{', '[]', 'null', '"a"', '{"a":"\\u0000"}', '['.repeat(200)]) {
        assert.deepEqual(await send(body), [400, 'INVALID_JSON'], body)
      }
      assert.deepEqual(await send({}), [400, 'UNSUPPORTED_VERSION'])
      assert.deepEqual(await send({ ...good, api_version: 'v2' }), [400, 'UNSUPPORTED_VERSION'])
      assert.deepEqual(await send({ ...good, challenge_id: undefined }), [400, 'MISSING_CHALLENGE_ID'])
      assert.deepEqual(await send({ ...good, challenge_id: '' }), [400, 'MISSING_CHALLENGE_ID'])
      assert.deepEqual(await send({ ...good, challenge_id: 5 }), [400, 'INVALID_CHALLENGE_ID'])
      const urls = [undefined, 5, '', 'nonsense', 'http://challenger.example/x', 'ftp://a/', 'https://u:p@a.example/']
      for (const callbackUrl of [...urls, `https://a.example/${'a'.repeat(2048)}`, 'http://127.0.0.1.example/']) {
        const answer = await send({ ...good, callback_url: callbackUrl })
        assert.deepEqual(answer, [400, 'INVALID_CALLBACK_URL'], String(callbackUrl))
      }
      assert.deepEqual(await send({ ...good, constraints: 5 }), [400, 'INVALID_CONSTRAINTS'])
    })

    test('challenge 3.3: a plain http callback needs ALLOW_INSECURE_CALLBACKS', async (t) => {
      const { url } = await startServer(t, { role: 'serve', feed, env: { ALLOW_INSECURE_CALLBACKS: 'false' } })

      const answer = await postSigned(url, '/solve', solveBody('c1', 'http://127.0.0.1:1/callback/c1'))

      assert.deepEqual(codeOf(answer), [400, 'INVALID_CALLBACK_URL'])
    })

    test('challenge 1.9: a nonce is burnt by a 4xx after the signature verified, and not by a 401', async (t) => {
      const { url } = await startServer(t, { role: 'serve', feed })
      const good = solveBody('c1', 'https://challenger.example/callback/c1')
      const send = async (body: object, options: object) => codeOf(await postSigned(url, '/solve', body, options))

      assert.deepEqual(await send(good, { nonce: 'n1', key: { ...SOLVER_KEY, secret: 'x' } }), [
        401,
        'INVALID_SIGNATURE',
      ])
      assert.deepEqual(await send(good, { nonce: 'n1' }), [202, undefined])
      assert.deepEqual(await send({}, { nonce: 'n2' }), [400, 'UNSUPPORTED_VERSION'])
      assert.deepEqual(await send(good, { nonce: 'n2' }), [401, 'REPLAY_ATTACK'])
    })

    test('challenge 2.2: a body over 5 MB is refused with 413', async (t) => {
      const { url } = await startServer(t, { role: 'serve', feed })
      const body = JSON.stringify({ filler: 'a'.repeat(5 * 1024 * 1024) })

      assert.deepEqual(codeOf(await post(`${url}/solve`, body, signedHeaders('/solve', body))), [
        413,
        'PAYLOAD_TOO_LARGE',
      ])
    })

    test('challenge 1.5: with SHARED_SECRET_KEY both key ids have the one secret', async (t) => {
      const { url } = await startServer(t, { role: 'serve', feed, env: { SHARED_SECRET_KEY: 'shared' } })
      const good = solveBody('c1', 'https://challenger.example/callback/c1')

      for (const keyId of ['solver-kid-1', 'chal-kid-1']) {
        assert.equal((await postSigned(url, '/solve', good, { key: { keyId, secret: 'shared' } })).status, 202)
      }
      assert.equal((await postSigned(url, '/solve', good)).status, 401)
    })

    test('challenge 1.6: a further key is accepted until its date, under its own id or the same', async (t) => {
      const extra =
        'next=next secret@2999-01-01T00:00:00Z,solver-kid-1=newer@2999-01-01T00:00:00Z,old=o@2020-01-01T00:00:00Z'
      const { url } = await startServer(t, { role: 'serve', feed, env: { SOLVER_HMAC_EXTRA_KEYS: extra } })
      const good = solveBody('c1', 'https://challenger.example/callback/c1')
      const statusOf = async (keyId: string, secret: string) =>
        (await postSigned(url, '/solve', good, { key: { keyId, secret } })).status

      assert.equal(await statusOf('next', 'next secret'), 202)
      assert.equal(await statusOf('solver-kid-1', 'newer'), 202)
      assert.equal(await statusOf('solver-kid-1', SOLVER_KEY.secret), 202)
      assert.equal(await statusOf('old', 'o'), 401)
    })

    test('challenge 3.5: GET /stats counts, and OPTIONS answers a preflight', async (t) => {
      const { url } = await startServer(t, { role: 'serve', feed })
      await postSigned(url, '/solve', solveBody('c1', 'https://challenger.example/callback/c1'))

      const { status, body } = await get(`${url}/stats`)
      const preflight = await fetch(`${url}/solve`, { method: 'OPTIONS' })

      assert.deepEqual(
        [status, body],
        [200, { pending: 1, processing: 0, dead: 0, callbacks_pending: 0, callbacks_dead: 0 }],
      )
      assert.equal(preflight.status, 204)
      assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
    })

    test('challenge 2.5: HTTPS_ONLY redirects to https', async (t) => {
      const { url } = await startServer(t, { role: 'serve', feed, env: { HTTPS_ONLY: 'true' } })

      const response = await fetch(`${url}/stats`, { redirect: 'manual' })

      assert.equal(response.status, 308)
      assert.equal(response.headers.get('location'), `${url.replace('http:', 'https:')}/stats`)
    })
  })

for (const feed of FEEDS)
  describe(`challenge: the callback (${feed})`, () => {
    test('challenge 5.1: a callback is signed with the Challenger’s key over its own path, and verifies as a Standard Webhook', async (t) => {
      const receiver = await startReceiver(t)
      const { url } = await startServer(t, { feed })

      await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1?x=1`))
      await until('the callback came', () => receiver.received.length > 0)

      const [callback] = receiver.received
      assert(callback !== undefined)
      const [, keyId, ts, nonce, sig] =
        /^RCS-HMAC-SHA256 keyId=([^,]+),ts=(\d+),nonce=([^,]+),sig=([0-9a-f]{64})$/.exec(
          callback.headers.authorization ?? '',
        ) ?? []
      const expected = signedHeaders('/callback/c1', callback.body, {
        key: CHAL_KEY,
        ts: Number(ts),
        nonce: nonce ?? '',
      })
      assert.equal(keyId, 'chal-kid-1')
      assert(expected['authorization']?.endsWith(`sig=${sig}`))
      assert.equal(callback.path, '/callback/c1?x=1')
      const { metadata, ...body } = JSON.parse(callback.body)
      assert.equal(metadata.solver, 'math')
      assert(Number.isInteger(metadata.compute_time_ms))
      assert.deepEqual(body, {
        api_version: 'v2.1',
        challenge_id: 'c1',
        solver_job_id: 'solver_job_c1',
        status: 'success',
        answer: '395',
      })
      const headers = Object.fromEntries(Object.entries(callback.headers).map(([name, value]) => [name, String(value)]))
      new Webhook(Buffer.from(CHAL_KEY.secret).toString('base64')).verify(callback.body, headers)
    })

    test('challenge 4.6: a callback without an answer says why: unsolvable, unavailable, too late', async (t) => {
      const receiver = await startReceiver(t)
      const { url } = await startServer(t, { feed })
      const asked = {
        zero: { problem: { type: 'math', expression: '1/0' } },
        captcha: { problem: { type: 'captcha', question: '?' } },
        code: { problem: { type: 'code' } },
        odd: { problem: { type: 'riddle' } },
        none: { problem: null },
        late: { constraints: { deadline_ts: nowSec() - 10 } },
        slow: { problem: SLOW, constraints: { timeout_ms: 20 } },
      }

      for (const [id, more] of Object.entries(asked)) {
        assert.equal(
          (await postSigned(url, '/solve', solveBody(id, `${receiver.url}/callback/${id}`, more))).status,
          202,
        )
      }
      await until('all callbacks came', () => receiver.received.length === 7)

      const codes = receiver.received.map(({ body }) => JSON.parse(body))
      assert.deepEqual(
        Object.fromEntries(codes.map((body) => [body.challenge_id, `${body.status} ${body.error_code}`])),
        {
          zero: 'failed DIVISION_BY_ZERO',
          captcha: 'failed SOLVER_UNAVAILABLE',
          code: 'failed SOLVER_UNAVAILABLE',
          odd: 'failed UNSUPPORTED_PROBLEM',
          none: 'failed INVALID_PROBLEM',
          late: 'failed DEADLINE_EXCEEDED',
          slow: 'failed TIMEOUT',
        },
      )
    })

    test('challenge 5.7: a callback is retried on 429 and 5xx with the same body and X-Request-ID, and a new nonce and ts', async (t) => {
      const receiver = await startReceiver(t, [500, 429, 200])
      const { url } = await startServer(t, { feed })

      await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
      await until('three attempts were made', () => receiver.received.length === 3)

      const { received } = receiver
      assert.equal(new Set(received.map(({ body }) => body)).size, 1)
      assert.equal(new Set(received.map(({ headers }) => headers['x-request-id'])).size, 1)
      assert.equal(new Set(received.map(({ headers }) => headers.authorization)).size, 3)
      const [first, second, third] = received.map(({ at }) => at)
      assert((second ?? 0) - (first ?? 0) >= 425, 'half a second, less the jitter')
      assert((third ?? 0) - (second ?? 0) >= 850, 'a second, less the jitter')
    })
  })

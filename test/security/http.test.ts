// Origins, hosts, cookies and the lifetime of WebSockets.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { WebSocket } from 'ws'
import type { Door } from '../../src/core/door.ts'
import type { RequestGuard } from '../../src/core/http/auth/guard.ts'
import { requireSocket } from '../../src/core/http/auth/socket-auth.ts'
import { detailBody } from '../../src/core/http/errors/detail.ts'
import { shared } from '../../src/core/http/shared.ts'
import { setup } from '../contract/core/setup.ts'

const DOOR: Door = {
  name: 'live',
  about: 'A test.',
  settings: {},
  paths: ['/echo-socket'],
  errorBody: detailBody,
  migrations: null,
  open: () => ({}),
}

async function listening(t: TestContext, env: Record<string, string> = {}) {
  let guard: RequestGuard | null = null
  const routes: FastifyPluginAsync = async (app) => {
    const onRequest = async (request: FastifyRequest) => guard?.(request)
    app.get('/echo-socket', { websocket: true, onRequest }, (socket) => void app.hub.attach(socket))
  }
  const all = await setup(t, { env, doors: [{ door: DOOR, opened: { routes } }] })
  guard = requireSocket(all.identity, 'ADMIN')
  const { url } = await all.http.listen()
  const revalidate = () =>
    all.http.loops.find(({ name }) => name === 'revalidate-websockets')?.runOnce(new AbortController().signal)
  return { ...all, url, revalidate }
}

const raw = async (url: string, text: string): Promise<string> => {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  socket.end(text)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}

describe('hosts', () => {
  test('a request with two Host headers is refused', async (t) => {
    const { url } = await listening(t)

    const answer = await raw(url, 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n')

    assert.match(answer, /^HTTP\/1\.1 400 /)
  })

  test('ALLOWED_HOSTS refuses other names with 421', async (t) => {
    const { ask } = await setup(t, { env: { ALLOWED_HOSTS: 'reeve.example', PUBLIC_URL: 'https://public.example' } })
    const status = async (host: string) => (await ask({ url: '/healthz', headers: { host } })).statusCode

    assert.equal(await status('reeve.example:8080'), 200)
    assert.equal(await status('REEVE.example'), 200)
    assert.equal(await status('public.example'), 200)
    assert.equal(await status('evil.example'), 421)
  })
})

describe('origins', () => {
  test('an origin with another scheme than the server is another origin', async (t) => {
    const { ask } = await setup(t)
    const login = (origin: string) =>
      ask({
        method: 'POST',
        url: '/auth/login',
        headers: { host: 'reeve.example', origin },
        payload: { username: 'a', password: 'b' },
      })

    assert.equal((await login('http://reeve.example')).statusCode, 401)
    assert.equal((await login('https://reeve.example')).statusCode, 403)
  })

  test('a page of another site cannot log in, register or open a session', async (t) => {
    const { ask, account } = await setup(t, { env: { ALLOWED_ORIGINS: 'https://console.example' } })
    await account('ann')
    const paths = ['/auth/login', '/auth/session', '/auth/register', '/api/auth/login', '/api/auth/register']
    const from = (url: string, origin: string) =>
      ask({
        method: 'POST',
        url,
        headers: { origin },
        payload: { username: 'ann', password: 'ann password', role: 'CLIENT' },
      })

    for (const path of paths) {
      assert.equal((await from(path, 'https://evil.example')).statusCode, 403, path)
      assert.notEqual((await from(path, 'https://console.example')).statusCode, 403, path)
    }
  })

  test('ALLOWED_ORIGINS opens CORS, and only to those origins', async (t) => {
    const { ask } = await setup(t, { env: { ALLOWED_ORIGINS: 'https://console.example' } })
    const get = async (origin: string) => (await ask({ url: '/auth/me', headers: { origin } })).headers

    const allowed = await get('https://console.example')
    const refused = await get('https://evil.example')
    const preflight = await ask({
      method: 'OPTIONS',
      url: '/auth/api-keys',
      headers: { origin: 'https://console.example', 'access-control-request-method': 'POST' },
    })

    assert.equal(allowed['access-control-allow-origin'], 'https://console.example')
    assert.equal(allowed['access-control-allow-credentials'], undefined)
    assert.equal(refused['access-control-allow-origin'], undefined)
    assert.equal(preflight.statusCode, 204)
    assert.match(String(preflight.headers['access-control-allow-methods']), /POST/)
    assert.match(String(preflight.headers['access-control-allow-headers']), /Authorization/)
  })
})

describe('the session cookie', () => {
  test('authenticates requests of the same origin, and no others', async (t) => {
    const { ask, account } = await setup(t)
    await account('ann')
    const payload = { username: 'ann', password: 'ann password' }
    const login = await ask({ method: 'POST', url: '/auth/session', payload })
    const set = String(login.headers['set-cookie'])
    const cookie = set.split(';')[0] ?? ''
    const status = async (headers: Record<string, string>) =>
      (await ask({ url: '/auth/me', headers: { host: 'reeve.example', cookie, ...headers } })).statusCode

    assert.deepEqual(login.json(), { user_id: 1, username: 'ann', roles: ['PLAYER'] })
    assert.match(set, /^reeve_session=[0-9a-f]{64}; Path=\/; Max-Age=3600; HttpOnly; SameSite=Strict; Secure$/)
    assert.equal(await status({ 'sec-fetch-site': 'same-origin' }), 200)
    assert.equal(await status({ origin: 'http://reeve.example' }), 200)
    assert.equal(await status({}), 401)
    assert.equal(await status({ 'sec-fetch-site': 'cross-site' }), 401)
    assert.equal(await status({ origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }), 401)

    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const ended = await ask({ method: 'DELETE', url: '/auth/session', headers })
    assert.equal(ended.statusCode, 204)
    assert.match(String(ended.headers['set-cookie']), /^reeve_session=; Path=\/; Max-Age=0/)
    assert.equal(await status({ 'sec-fetch-site': 'same-origin' }), 401)
  })

  test('is not Secure where PUBLIC_URL is http', async (t) => {
    const { ask, account } = await setup(t, { env: { PUBLIC_URL: 'http://intranet.example' } })
    await account('ann')

    const login = await ask({
      method: 'POST',
      url: '/auth/session',
      payload: { username: 'ann', password: 'ann password' },
    })

    assert.doesNotMatch(String(login.headers['set-cookie']), /Secure/)
  })
})

describe('WebSockets', () => {
  test('end when their token, role or account ends, and are counted', async (t) => {
    const { url, account, identity, revalidate, metrics } = await listening(t)
    const connect = async (headers: Record<string, string>) => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/echo-socket`, { headers })
      t.after(() => socket.terminate())
      await once(socket, 'open')
      const closed = once(socket, 'close').then(([code, reason]) => `${code} ${String(reason)}`)
      return { socket, closed }
    }
    const open = async (name: string) => {
      const made = await account(name, ['ADMIN'])
      return { ...made, ...(await connect({ authorization: `Bearer ${made.token}` })) }
    }
    const kept = await open('a')
    const key = await identity.createApiKey(kept.accountId, {
      token: kept.token,
      name: 'k',
      scopes: null,
      expiresAt: null,
    })
    assert(key.ok)
    const program = await connect({ 'x-api-key': key.secret }) // checked in its own way, between tokens
    const [loggedOut, demoted, closed] = [await open('b'), await open('c'), await open('d')]
    const promoted = await open('e')

    await identity.setRoles(promoted, ['ADMIN', 'OPERATOR'])
    await identity.logout(loggedOut.token)
    await identity.setRoles(demoted, [])
    await identity.setActive(closed, false)
    await revalidate()

    assert.equal(await loggedOut.closed, '1008 unauthorized')
    assert.equal(await demoted.closed, '1008 forbidden')
    assert.equal(await closed.closed, '1008 unauthorized')
    for (const { socket } of [kept, program, promoted]) assert.equal(socket.readyState, WebSocket.OPEN)
    const text = await metrics.metrics()
    assert.match(text, /websocket_ended_total\{reason="unauthorized"\} 2/)
    assert.match(text, /websocket_ended_total\{reason="forbidden"\} 1/)
  })

  test('a refused upgrade says Connection: close', async (t) => {
    const { url } = await listening(t)
    const upgrade =
      'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='

    const answer = await raw(url, `GET /echo-socket HTTP/1.1\r\nHost: a\r\n${upgrade}\r\n\r\n`)

    assert.match(answer, /^HTTP\/1\.1 401 /)
    assert.match(answer, /^connection: close\r$/im)
  })
})

describe('what anyone may ask', () => {
  test('/metrics/prometheus is text whatever the Accept, and METRICS_TOKEN protects it', async (t) => {
    const { ask } = await setup(t, { env: { METRICS_TOKEN: 'scrape-me' } })
    const scrape = (authorization?: string) =>
      ask({
        url: '/metrics/prometheus',
        headers: { accept: 'application/json', ...(authorization === undefined ? {} : { authorization }) },
      })

    const answer = await scrape('Bearer scrape-me')
    assert.equal((await scrape()).statusCode, 401)
    assert.equal((await scrape('Bearer another')).statusCode, 401)
    assert.equal((await ask({ url: '/docs/json' })).statusCode, 401)
    assert.equal((await ask({ url: '/metrics', headers: { accept: 'text/plain' } })).statusCode, 401)
    assert.equal((await ask({ url: '/metrics' })).statusCode, 200)
    assert.match(answer.body, /^# HELP /)
  })

  test('/health answers {"status":"ok"}', async (t) => {
    const { ask } = await setup(t)

    assert.deepEqual((await ask({ url: '/health' })).json(), { status: 'ok' })
  })

  test('concurrent callers share one computation, and a later caller starts another', async () => {
    let computations = 0
    const read = shared(async () => {
      computations += 1
      return computations
    })

    const first = read()
    const others = await Promise.all([first, read(), read(), read()])
    const later = await read()

    assert.deepEqual(others, [1, 1, 1, 1])
    assert.equal(later, 2)
  })

  test('Permissions-Policy turns off the browser features that pages do not use', async (t) => {
    const { ask } = await setup(t)

    assert.match(String((await ask({ url: '/' })).headers['permissions-policy']), /camera=\(\)/)
  })

  test('one warning says that users behind a proxy share one limit', async (t) => {
    const { ask, lines } = await setup(t)

    for (let n = 0; n < 3; n += 1) await ask({ url: '/healthz', headers: { 'x-forwarded-for': '192.0.2.1' } })

    assert.equal(lines.filter((line) => line.includes('TRUST_PROXY')).length, 1)
  })
})

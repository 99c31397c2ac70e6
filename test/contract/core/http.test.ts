import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FastifyPluginAsync } from 'fastify'
import type { Door } from '../../../src/core/door.ts'
import { detailBody } from '../../../src/core/http/errors/detail.ts'
import { prefersText } from '../../../src/core/http/routes/metrics.ts'
import { DOORS } from '../../../src/doors/doors.ts'
import { setup } from './setup.ts'

const BROKEN: Door = {
  name: 'judge',
  about: 'A door that fails.',
  settings: {},
  paths: ['/boom'],
  errorBody: detailBody,
  migrations: null,
  open: () => ({}),
}
const broken: FastifyPluginAsync = async (app) => {
  app.get('/boom', async () => {
    throw new Error('boom')
  })
}

describe('ids', () => {
  test('the caller’s request id is kept if it is harmless, otherwise one is made', async (t) => {
    const { ask } = await setup(t)
    const idFor = async (id: string) =>
      (await ask({ url: '/healthz', headers: { 'x-request-id': id } })).headers['x-request-id']

    assert.equal(await idFor('abc-123_X.y:z'), 'abc-123_X.y:z')
    for (const bad of ['', 'a b', 'a"b', 'x'.repeat(129), '<script>', '{"a":1}']) assert.notEqual(await idFor(bad), bad)
    assert.match(String((await ask({ url: '/nope' })).headers['x-request-id']), /^[0-9a-f-]{36}$/)
  })

  test('the trace is the caller’s, in the log and on the job', async (t) => {
    const { ask, account, lines, engine } = await setup(t)
    const { token } = await account('root', ['ADMIN'])
    const trace = '0af7651916cd43dd8448eb211c80319c'
    const send = (traceparent: string) =>
      ask({
        method: 'POST',
        url: '/admin/jobs',
        token,
        payload: { kind: 'echo', payload: 1 },
        headers: { traceparent },
      })

    const given = await send(`00-${trace}-b7ad6b7169203331-01`)
    const zero = await send(`00-${'0'.repeat(32)}-b7ad6b7169203331-01`)

    assert.equal((await engine.ledger.get(given.json().job_id))?.traceId, trace)
    assert.match(String((await engine.ledger.get(zero.json().job_id))?.traceId), /^(?!0{32})[0-9a-f]{32}$/)
    assert(lines.some((line) => line.includes(`"trace_id":"${trace}"`) && line.includes('"route":"/admin/jobs"')))
  })
})

describe('paths and methods', () => {
  test('an unknown path is 404; a known one with another method is 405 and says which', async (t) => {
    const { ask } = await setup(t)

    const unknown = await ask({ method: 'POST', url: '/nope', headers: { 'content-type': 'text/plain' }, payload: 'x' })
    const wrong = await ask({ method: 'DELETE', url: '/auth/login' })
    const param = await ask({ method: 'GET', url: '/admin/jobs/1/cancel' })
    const arena = await ask({ method: 'GET', url: '/api/auth/login' })

    assert.deepEqual([unknown.statusCode, unknown.json()], [404, { detail: 'Not Found' }])
    assert.deepEqual([wrong.statusCode, wrong.headers['allow']], [405, 'POST'])
    assert.deepEqual([param.statusCode, param.headers['allow']], [405, 'POST'])
    assert.deepEqual([arena.statusCode, arena.json().error.code], [405, 'method_not_allowed'])
  })

  test('OPTIONS lists the methods, HEAD is GET without a body, and there is no CORS', async (t) => {
    const { ask } = await setup(t)

    const options = await ask({ method: 'OPTIONS', url: '/healthz', headers: { origin: 'https://evil.example' } })
    const nowhere = await ask({ method: 'OPTIONS', url: '/nope' })
    const head = await ask({ method: 'HEAD', url: '/healthz', headers: { origin: 'https://evil.example' } })

    assert.deepEqual([options.statusCode, options.headers['allow']], [204, 'GET, HEAD'])
    assert.equal(nowhere.statusCode, 404)
    assert.deepEqual([head.statusCode, head.body], [200, ''])
    assert.equal(head.headers['access-control-allow-origin'], undefined)
  })
})

describe('health', () => {
  test('arena GET /api/health: ok and v1.1.0', async (t) => {
    const { ask } = await setup(t)

    const answer = await ask({ url: '/api/health' })

    assert.equal(answer.statusCode, 200)
    assert.deepEqual(answer.json().data, { status: 'ok', version: 'v1.1.0' })
  })

  test('/readyz names the part that fails, and says nothing else about it; /healthz stays 200', async (t) => {
    const broken = async () => {
      throw new Error('canary: s3 key')
    }
    const { ask } = await setup(t, { checks: { files: broken } })

    const ready = await ask({ url: '/readyz' })
    const arena = await ask({ url: '/api/health' })
    const alive = await ask({ url: '/healthz' })

    assert.equal(ready.statusCode, 503)
    assert.deepEqual(ready.json(), { status: 'unavailable', checks: { database: 'ok', feed: 'ok', files: 'failed' } })
    assert.equal(arena.statusCode, 503)
    assert.equal(arena.json().success, false)
    assert.equal(alive.statusCode, 200)
  })

  test('a check that hangs fails within its time', async (t) => {
    const { ask } = await setup(t, { checks: { feed: () => new Promise(() => {}) } })

    const answer = await ask({ url: '/readyz' })

    assert.equal(answer.json().checks.feed, 'failed')
  })

  test('/readyz is 503 from the moment the server drains', async (t) => {
    const { ask, http } = await setup(t)
    assert.equal((await ask({ url: '/readyz' })).statusCode, 200)

    http.drain()

    const answer = await ask({ url: '/readyz' })
    assert.deepEqual([answer.statusCode, answer.json().status], [503, 'draining'])
  })
})

describe('/metrics', () => {
  test('arena GET /metrics: the envelope, unless a scraper asks', async (t) => {
    const { ask, app } = await setup(t)
    await ask({ url: '/nope' })
    app.liveCounts.provide(async () => ({ sessions: 3, queue: 2 }))

    const plain = await ask({ url: '/metrics' })
    const scraper = await ask({
      url: '/metrics',
      headers: { accept: 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1' },
    })

    assert.deepEqual(plain.json().data, {
      requests: { total: 1, errors: 1 },
      connections: { websocket: 0 },
      sessions: { active: 3 },
      queue: { length: 2 },
    })
    assert.match(String(scraper.headers['content-type']), /^text\/plain/)
    assert.match(scraper.body, /http_requests_total\{method="GET",route="unknown",status="404"\} 1/)
    assert.match(scraper.body, /^websocket_connections 0$/m)
  })

  test('the quality values of Accept are respected', () => {
    assert(prefersText('text/plain'))
    assert(prefersText('text/plain;version=0.0.4'))
    assert(!prefersText(''))
    assert(!prefersText('*/*'))
    assert(!prefersText('application/json, text/plain, */*')) // axios
    assert(!prefersText('text/html,application/xhtml+xml,*/*;q=0.8'))
    assert(prefersText('application/json;q=0.2, text/plain'))
  })

  test('labels are route patterns: no id of a request becomes one', async (t) => {
    const { ask, account, metrics } = await setup(t)
    const { token } = await account('root', ['ADMIN'])

    for (const id of ['canary-1', 'canary-2']) await ask({ url: `/admin/jobs/${id}?x=canary-3`, token })
    await ask({ url: '/canary-4' })

    const text = await metrics.metrics()
    assert(!text.includes('canary'))
    assert(text.includes('route="/admin/jobs/:id"'))
  })
})

describe('logs', () => {
  test('no secret is logged: password, token, key, cookie, query, body', async (t) => {
    const { ask, lines } = await setup(t, { doors: [{ door: BROKEN, opened: { routes: broken } }] })
    const username = 'ann'
    const payload = { username, password: 'canary-password', role: 'CLIENT' }
    await ask({ method: 'POST', url: '/auth/register', payload })
    const login = await ask({ method: 'POST', url: '/auth/login', payload, headers: { cookie: 'sid=canary-cookie' } })
    const token = login.json().access_token
    const key = await ask({ method: 'POST', url: '/auth/api-keys', token, payload: { name: 'k' } })
    await ask({ url: '/auth/me', headers: { 'x-api-key': key.json().api_key } })
    await ask({ url: '/auth/me?token=canary-query', headers: { authorization: 'Bearer canary-bearer' } })
    await ask({ url: '/nope?token=canary-query' })
    await ask({
      method: 'POST',
      url: '/auth/login',
      headers: { 'content-type': 'application/json' },
      payload: '{"password":"canary-password',
    })
    const failed = await ask({ url: '/boom', token, headers: { cookie: 'sid=canary-cookie' } })

    assert.equal(failed.statusCode, 500)
    assert.deepEqual(failed.json(), { detail: 'Internal server error' })
    const log = lines.join('')
    assert.equal(lines.filter((line) => line.includes('"level":"error"')).length, 1)
    for (const secret of ['canary', token, key.json().api_key, 'argon2']) assert(!log.includes(secret), secret)
    assert(log.includes('"route":"/auth/login"'))
  })

  test('each request is one line with its method, route, status and time', async (t) => {
    const { ask, lines } = await setup(t)

    await ask({ url: '/auth/me', headers: { 'x-request-id': 'r1' } })

    const mine = lines.filter((line) => line.includes('"r1"')).map((line) => JSON.parse(line))
    assert.equal(mine.length, 1)
    assert.deepEqual(
      [mine[0].method, mine[0].route, mine[0].status, typeof mine[0].ms],
      ['GET', '/auth/me', 401, 'number'],
    )
  })
})

describe('pages', () => {
  test('every answer has its security headers', async (t) => {
    const { ask } = await setup(t)

    for (const url of ['/', '/healthz', '/nope', '/docs', '/%']) {
      const { headers } = await ask({ url })
      if (url !== '/%') assert.match(String(headers['content-security-policy']), /default-src 'none'/, url)
      if (url !== '/%') assert.equal(headers['x-content-type-options'], 'nosniff', url)
      assert.equal(headers['strict-transport-security'], undefined)
    }
  })

  test('/about says which doors are open, and who the caller is', async (t) => {
    const { ask, account } = await setup(t, { built: DOORS })
    const { token } = await account('ann', ['OPERATOR'])

    const stranger = (await ask({ url: '/about' })).json()
    const known = (await ask({ url: '/about', headers: { authorization: `Bearer ${token}` } })).json()

    assert.deepEqual(
      stranger.doors.map(({ name, state }: { name: string; state: string }) => [name, state]),
      ['judge', 'challenge', 'pool', 'desk', 'arena'].map((name) => [name, 'closed']),
    )
    assert.deepEqual([stranger.account, stranger.registration], [null, 'open'])
    assert.deepEqual([known.account.username, known.account.roles], ['ann', ['PLAYER', 'OPERATOR']])
  })

  test('the page of the OpenAPI description finds its scripts and styles', async (t) => {
    const { ask } = await setup(t)

    const page = await ask({ url: '/docs/' })
    const files = [...page.body.matchAll(/(?:src|href)="\.\/(static\/[^"]+)"/g)].map(([, file]) => file)
    const answers = await Promise.all(
      files.map(async (file) => [file, (await ask({ url: `/docs/${file}` })).statusCode]),
    )

    assert(files.length >= 4, page.body)
    assert.deepEqual(
      answers.filter(([, status]) => status !== 200),
      [],
    )
  })

  test('the OpenAPI description has every route with its schemas', async (t) => {
    const { ask } = await setup(t)

    const { paths, components } = (await ask({ url: '/docs/json' })).json()

    for (const path of [
      '/auth/register',
      '/auth/login',
      '/api/auth/login',
      '/admin/jobs/{id}',
      '/metrics',
      '/readyz',
    ]) {
      assert(path in paths, path)
    }
    assert.deepEqual(Object.keys(components.securitySchemes), ['bearer', 'apiKey'])
    assert.equal(
      paths['/admin/jobs'].post.requestBody.content['application/json'].schema.properties.priority.maximum,
      9,
    )
  })
})

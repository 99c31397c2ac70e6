import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Door } from '../../../src/core/door.ts'
import { setup } from './setup.ts'
import { startProcessorTimer } from '../../support/processor-time.ts'

const json = { 'content-type': 'application/json' }
const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)

/** Bodies that no route may answer with anything but a 4xx. */
const BODIES: Record<string, string | Buffer> = {
  nothing: '',
  'half an object': '{"kind":',
  'a stray byte': Buffer.from([0xff, 0xfe, 0x00]),
  'UTF-16': Buffer.from('{"kind":"echo","payload":1}', 'utf16le'),
  'invalid UTF-8 in a string': Buffer.concat([Buffer.from('{"kind":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
  'an encoded surrogate': Buffer.concat([Buffer.from('{"kind":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
  'a NUL': String.raw`{"kind":"echo","payload":"a\u0000b","username":"a\u0000b","password":"a password","role":"CLIENT","name":"\u0000"}`,
  'a NUL in a key': String.raw`{"kind":"echo","payload":{"\u0000":1}}`,
  'half a surrogate pair': String.raw`{"kind":"echo","payload":"\ud800","username":"\udfff","password":"a password","role":"CLIENT"}`,
  'halves in the wrong order': String.raw`{"kind":"echo","payload":["\udc00\ud800"]}`,
  __proto__: '{"kind":"echo","payload":{"__proto__":{"x":1}}}',
  'an escaped __proto__': String.raw`{"kind":"echo","payload":{"__\u0070roto__":{"x":1}}}`,
  'deep arrays': `{"kind":"echo","payload":${nested(101, '[', ']')}}`,
  'very deep arrays': nested(2_000_000, '[', ']'),
  'very deep, unclosed': '['.repeat(4_000_000),
  'very deep objects': `${'{"a":'.repeat(500_000)}1${'}'.repeat(500_000)}`,
  'a number': '1',
  null: 'null',
  'an array of a million': `[${'1,'.repeat(1_000_000)}1]`,
  'many unknown fields': `{${Array.from({ length: 100_000 }, (_, n) => `"k${n}":1`).join(',')}}`,
  'many keys far down': `{"kind":"echo","payload":[${Array.from({ length: 60_000 }, (_, n) => `{"k${n}" : 1}`).join(',')}]}`,
  'wrong types': '{"kind":1,"payload":1,"username":[],"password":{},"role":7,"roles":"ADMIN","name":5}',
  'numbers out of range': '{"kind":"echo","payload":1,"priority":1e400,"delay_ms":99999999999999999999}',
  'two values': '{}{}',
  'a trailing comma': '{"kind":"echo",}',
  NaN: '{"kind":NaN}',
  'a raw control character': '{"kind":"a\u0001"}',
}

const ROUTES = [
  '/auth/register',
  '/auth/login',
  '/auth/api-keys',
  '/api/auth/register',
  '/api/auth/login',
  '/admin/jobs',
  '/admin/users',
]

describe('bad input', () => {
  test('every bad body gets a 4xx, changes nothing, and does not hold up the event loop', async (t) => {
    const { ask, account, database, lines } = await setup(t, { env: { LOGIN_RATE_LIMIT_MAX: '10000' } })
    const { token } = await account('root', ['ADMIN'])

    for (const url of ROUTES) {
      for (const [name, payload] of Object.entries(BODIES)) {
        const processorMs = startProcessorTimer()
        const answer = await ask({ method: 'POST', url, token, headers: json, payload })
        const ms = processorMs()

        assert(
          answer.statusCode >= 400 && answer.statusCode < 500,
          `${url}, ${name}: ${answer.statusCode} ${answer.body}`,
        )
        const body = answer.json()
        assert(url.startsWith('/api/') ? body.success === false : 'detail' in body, `${url}, ${name}: ${answer.body}`)
        assert(answer.body.length < 5000, `${url}, ${name}: an answer of ${answer.body.length} characters`)
        assert(ms < 2000, `${url}, ${name}: ${ms} ms of processor time`)
      }
    }
    const [counts] = await database.query(
      `select (select count(*)::int from accounts) as accounts, (select count(*)::int from jobs) as jobs`,
    )
    assert.deepEqual(counts, { accounts: 1, jobs: 0 })
    assert.deepEqual(
      lines.filter((line) => line.includes('"level":"error"')),
      [],
    )
  })

  test('input that only looks dangerous is accepted unchanged', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('root', ['ADMIN'])
    const payload = String.raw`{"kind":"echo","payload":["\ud83d\ude00","\\u0000","constructor",{"prototype":1},1.0,12345678901234567890,${nested(98, '[', ']')}]}`

    const answer = await ask({ method: 'POST', url: '/admin/jobs', token, headers: json, payload })

    assert.equal(answer.statusCode, 202)
    const job = await ask({ url: `/admin/jobs/${answer.json().job_id}`, token })
    assert.deepEqual(job.json().payload.slice(0, 3), ['😀', '\\u0000', 'constructor'])
  })

  test('another content type is 415, and so is a body without one', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('root', ['ADMIN'])

    for (const type of [
      'text/plain',
      'application/xml',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded',
      'json',
      '%',
      '',
    ]) {
      const answer = await ask({
        method: 'POST',
        url: '/admin/jobs',
        token,
        headers: { 'content-type': type },
        payload: 'kind=echo',
      })
      assert.equal(answer.statusCode, 415, type)
      assert('detail' in answer.json())
    }
    assert.equal(
      (
        await ask({ method: 'POST', url: '/api/auth/login', headers: { 'content-type': 'text/plain' }, payload: 'x' })
      ).json().error.code,
      'bad_request',
    )
  })

  test('forms that are not valid are refused', async (t) => {
    const { ask } = await setup(t)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }

    for (const payload of [
      'username=a%00b&password=p',
      'username=%ff&password=p',
      'username=%&password=p',
      'username=a&username=b&password=p',
      '__proto__=1',
      'a&b&c',
      '&'.repeat(60_000),
      `username=${'a'.repeat(70_000)}&password=p`,
      Buffer.from([0x75, 0x3d, 0xff]),
    ]) {
      const answer = await ask({ method: 'POST', url: '/auth/login', headers, payload })
      assert(
        answer.statusCode >= 400 && answer.statusCode < 500,
        `${String(payload).slice(0, 40)}: ${answer.statusCode}`,
      )
    }
  })

  test('invalid paths and queries are refused in the error format of their path', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('root', ['ADMIN'])

    for (const url of [
      '/%',
      '/admin/jobs/%zz',
      '/admin/jobs/%c3%28',
      '/admin/jobs/%00',
      '/admin/jobs?kind=%00',
      '/admin/users?limit=%00',
      '/api/%',
      `/admin/jobs/${'a'.repeat(513)}`,
      '/admin/jobs?kind=a&kind=b',
      '/admin/jobs?__proto__=1&limit=x',
      '//',
      '/admin//jobs',
    ]) {
      const answer = await ask({ url, token })
      assert(answer.statusCode >= 400 && answer.statusCode < 500, `${url}: ${answer.statusCode}`)
      assert(url.startsWith('/api/') ? answer.json().success === false : 'detail' in answer.json(), url)
      assert.equal(typeof answer.headers['x-request-id'], 'string', url)
    }
  })

  test('validation names each wrong field, up to eight, and coerces nothing', async (t) => {
    const { ask } = await setup(t)

    const missing = await ask({ method: 'POST', url: '/auth/register', payload: {} })
    const typed = await ask({
      method: 'POST',
      url: '/auth/register',
      payload: { username: 1, password: true, role: 'CLIENT' },
    })

    assert.equal(missing.statusCode, 422)
    assert.deepEqual(missing.json(), {
      detail: [
        { type: 'required', loc: ['body', 'password'], msg: 'is required' },
        { type: 'required', loc: ['body', 'role'], msg: 'is required' },
      ],
    })
    assert.deepEqual(
      typed.json().detail.map(({ type, loc }: { type: string; loc: string[] }) => [type, ...loc]),
      [
        ['type', 'body', 'username'],
        ['type', 'body', 'password'],
      ],
    )
  })
})

describe('a door’s own error format', () => {
  const door: Door = {
    name: 'judge',
    about: 'A test.',
    settings: {},
    paths: ['/submit', '/status/', '/api/judge/'],
    errorBody: ({ code, message, requestId, fields }) => ({
      error: message,
      code,
      requestId,
      fields: fields?.length ?? 0,
    }),
    migrations: null,
    open: () => ({}),
  }
  const opened = {
    routes: async (app: FastifyInstance) => {
      app.post(
        '/submit',
        { schema: { body: { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } } } },
        async () => ({}),
      )
      app.get('/status/:id', async () => {
        throw new Error('canary-in-an-exception')
      })
    },
  }

  test('every error at its paths has it: validation, JSON, size, unknown paths and methods, failures', async (t) => {
    const { ask, lines } = await setup(t, { doors: [{ door, opened }] })
    const post = (payload: string) => ask({ method: 'POST', url: '/submit', headers: json, payload })

    const answers = [
      [await post('{"a":"1"}'), 400, 'validation_failed'],
      [await post('{'), 400, 'invalid_json'],
      [await post(`"${'x'.repeat(5 * 1024 * 1024)}"`), 413, 'too_large'],
      [await ask({ url: '/status/a/b' }), 404, 'not_found'],
      [await ask({ url: '/api/judge/x' }), 404, 'not_found'],
      [await ask({ url: '/status/%' }), 400, 'bad_request'],
      [await ask({ method: 'DELETE', url: '/submit' }), 405, 'method_not_allowed'],
      [await ask({ url: '/status/1' }), 500, 'internal_error'],
    ] as const
    for (const [answer, status, code] of answers) {
      assert.equal(answer.statusCode, status)
      assert.equal(answer.json().code, code)
      assert.equal(answer.json().requestId, answer.headers['x-request-id'])
    }
    assert.deepEqual((await ask({ url: '/submitted' })).json(), { detail: 'Not Found' })
    assert(!answers.some(([answer]) => answer.body.includes('canary')))
    assert.equal(lines.filter((line) => line.includes('canary-in-an-exception')).length, 1)
  })
})

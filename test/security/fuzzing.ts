// Random requests: every route of the server, its methods, content types and hostile values. The same seed asks the same requests.
import type { InjectOptions } from 'fastify'

type Method = NonNullable<InjectOptions['method']>
const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']

const WORDS = [
  '',
  'a',
  '1',
  '-1',
  '0',
  '1e309',
  'NaN',
  '9007199254740993',
  '9223372036854775808',
  '-9223372036854775809',
  'null',
  'true',
  '%00',
  '%ff',
  '../..',
  '\u{1f600}',
  '\ud800',
  '\u0000',
  '\u202e\ufeff',
  '가',
  "'; drop table jobs; --",
  '<script>',
  '${7*7}',
  '(a+)+$',
  '__proto__',
  'constructor',
  'toString',
  'x'.repeat(600),
  '[['.repeat(300),
  '\n'.repeat(3000),
  '00000000-0000-7000-8000-000000000000',
  '2026-01-01T00:00:00Z',
  '+275760-09-13T00:00:00.001Z',
  'http://[::ffff:7f00:1]/',
  'https://example.org',
  'gopher://a',
]
const NAMES = [
  'username',
  'password',
  'role',
  'roles',
  'kind',
  'payload',
  'mode',
  'code',
  'problem_id',
  'language',
  'url',
  'domain',
  'type',
  'name',
  'limit',
  'before',
  'after',
  'page',
  'size',
  'since',
  'worker_id',
  'assignment_id',
  'specs_json',
  'priority',
  'challenge_id',
  'problem',
  'cookies',
  'solution',
  'scopes',
  'clientKey',
  'taskId',
  'task',
  'callback_url',
  'nonce',
  'signature',
  'public_key',
  'reason',
  'active',
  'state',
  'status',
  'cursor',
  '__proto__',
]
const NUMBERS = [0, -0, -1, 1.5, 1e21, 1e308, 5e-324, 2 ** 31, 2 ** 53, -(2 ** 63)]
const BROKEN_JSON = [
  '',
  '{',
  '"',
  '[',
  '{"a":\u0000}',
  '{"a":1e9999}',
  '['.repeat(5000),
  '{"a":'.repeat(2000),
  '\ufeff{}',
]
const CONTENT_TYPES = [
  'application/json',
  'application/json',
  'application/json',
  'application/json; charset=utf-16',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/zip',
  'application/octet-stream',
  'image/png',
  'application/xml',
  'a',
  'x/'.repeat(200),
]
const ACCEPTS = ['*/*', 'text/plain', 'application/json;q=0', 'text/event-stream', ';;,q=', 'a'.repeat(500)]
const STRANGE_HEADERS: readonly Readonly<Record<string, string>>[] = [
  { 'idempotency-key': 'k' },
  { 'idempotency-key': 'é' },
  { 'idempotency-key': 'x'.repeat(300) },
  { prefer: 'wait=1e9' },
  { prefer: 'wait=-1, respond-async' },
  { origin: 'https://evil.example' },
  { 'sec-fetch-site': 'cross-site' },
  { cookie: 'reeve_session=x; =; a' },
  { 'accept-language': 'ko,*;q=9' },
  { traceparent: '00-zz-zz-zz' },
  { 'if-none-match': 'W/"' },
  { 'x-forwarded-for': '::1, a, 1.2.3' },
  { 'x-ops-token': 'x' },
  { host: 'frame.localhost' },
  { 'x-signature': 'x', 'x-key-id': 'solver-kid-1', 'x-timestamp': '1e9', 'x-nonce': 'n' },
  { 'content-encoding': 'gzip' },
  { 'last-event-id': '-1' },
  { expect: '100-continue' },
]

/** A small generator of its own. */
function randomOf(seed: number) {
  let state = seed >>> 0
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const pick = <T>(items: readonly T[], otherwise: T): T => items[next(items.length)] ?? otherwise
  return { next, pick }
}

/** What a URL can hold. */
const wellFormed = (text: string): string => text.replaceAll(/\p{Surrogate}/gu, '?')

export interface FuzzedRequest extends InjectOptions {
  method: Method
  url: string
  headers: Record<string, string>
}

/** Each call is the next request; the routes take turns. `credentials` are whole headers, of any kind. */
export function openFuzzer(seed: number, routes: readonly string[]) {
  const { next, pick } = randomOf(seed)
  let asked = 0

  const value = (depth: number): unknown => {
    switch (next(depth > 3 ? 5 : 8)) {
      case 0:
        return null
      case 1:
        return next(2) === 0
      case 2:
        return next(2) === 0 ? next(1000) : pick(NUMBERS, 0)
      case 3:
      case 4:
        return pick(WORDS, '')
      case 5:
        return Array.from({ length: next(4) }, () => value(depth + 1))
      default:
        return Object.fromEntries(Array.from({ length: next(6) }, () => [pick(NAMES, 'a'), value(depth + 1)]))
    }
  }
  const segment = () => encodeURIComponent(wellFormed(pick(WORDS, '1'))) || '1'
  const pair = () => `${pick(NAMES, 'a')}=${encodeURIComponent(wellFormed(pick(WORDS, '')))}`
  const form = () => Array.from({ length: next(6) }, pair).join('&')

  function bodyOf(contentType: string): string | Buffer {
    if (next(12) === 0) return pick(BROKEN_JSON, '{')
    if (next(40) === 0) return Buffer.from([0xff, 0xfe, 0x00, 0x50, 0x4b, 3, 4, next(256)])
    if (contentType.includes('form')) return form()
    return JSON.stringify(value(0))
  }

  return (credentials: readonly Readonly<Record<string, string>>[]): FuzzedRequest => {
    const [name = '', path = ''] = routes[asked % routes.length]?.split(' ') ?? []
    asked += 1
    const method = next(20) === 0 ? pick(METHODS, 'GET') : (METHODS.find((known) => known === name) ?? 'GET')
    const query = next(2) === 0 ? '' : `?${form()}`
    const url = path.replaceAll(/:\w+/g, segment).replace('*', segment()) + query
    const hasBody = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'
    const contentType = pick(CONTENT_TYPES, 'text/plain')
    const headers = {
      ...(next(8) === 0 ? {} : pick(credentials, {})),
      ...(next(4) === 0 ? { accept: pick(ACCEPTS, '*/*') } : {}),
      ...(next(4) === 0 ? pick(STRANGE_HEADERS, {}) : {}),
      ...(hasBody ? { 'content-type': contentType } : {}),
    }
    return { method, url, headers, ...(hasBody ? { payload: bodyOf(contentType) } : {}) }
  }
}

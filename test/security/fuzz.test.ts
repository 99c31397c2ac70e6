// Random requests to every route: no input may cause a 5xx. REEVE_FUZZ_REQUESTS sets how many (test:slow: a million).
import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { ROLES } from '../../src/core/identity/role.ts'
import { allDoors, routesOf } from './all-doors.ts'

const REQUESTS = Number(process.env['REEVE_FUZZ_REQUESTS'] ?? 1500)
const SEED = Number(process.env['REEVE_FUZZ_SEED'] ?? 20_261_117)

type Method = NonNullable<InjectOptions['method']>
const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']

const WORDS = [
  '',
  'a',
  '1',
  '-1',
  '0',
  '1e309',
  '9007199254740993',
  'null',
  'true',
  '%00',
  '%ff',
  '../..',
  '\u{1f600}',
  '가',
  "'; drop table jobs; --",
  '<script>',
  '__proto__',
  'constructor',
  'x'.repeat(600),
  '00000000-0000-7000-8000-000000000000',
  '2026-01-01T00:00:00Z',
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
]

/** A small generator of its own: the same seed asks the same requests. */
function randomOf(seed: number) {
  let state = seed >>> 0
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const pick = <T>(items: readonly T[], otherwise: T): T => items[next(items.length)] ?? otherwise
  return { next, pick }
}

test('no random request causes a 5xx', { timeout: 3_600_000 }, async (t) => {
  const { app, tokenOf, lines } = await allDoors(t)
  const routes = routesOf(app).filter((route) => !/ \/\*$|readyz|\/docs|\/static/.test(route))
  const { next, pick } = randomOf(SEED)
  const tokens = await Promise.all(ROLES.map(tokenOf))
  const value = (depth: number): unknown => {
    switch (next(depth > 3 ? 5 : 8)) {
      case 0:
        return null
      case 1:
        return next(2) === 0
      case 2:
        return pick([0, -1, 1.5, 1e21, 2 ** 53, next(1000)], 0)
      case 3:
      case 4:
        return pick(WORDS, '')
      case 5:
        return Array.from({ length: next(4) }, () => value(depth + 1))
      default:
        return Object.fromEntries(Array.from({ length: next(5) }, () => [pick(NAMES, 'a'), value(depth + 1)]))
    }
  }
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()

  const failures: string[] = []
  for (let n = 0; n < REQUESTS; n += 1) {
    const [name = '', path = ''] = pick(routes, 'GET /').split(' ')
    const method = next(20) === 0 ? pick(METHODS, 'GET') : (METHODS.find((known) => known === name) ?? 'GET')
    const segment = () => encodeURIComponent(pick(WORDS, '1')) || '1'
    const query = next(2) === 0 ? '' : `?${pick(NAMES, 'a')}=${encodeURIComponent(pick(WORDS, ''))}`
    const url = path.replaceAll(/:\w+/g, segment).replace('*', segment()) + query
    const body = next(10) === 0 ? pick(['{', '"', '[', '{"a":\u0000}', '{"a":1e9999}'], '{') : JSON.stringify(value(0))
    const hasBody = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'
    const headers = {
      ...(next(8) === 0 ? {} : { authorization: `Bearer ${pick(tokens, '')}` }),
      ...(hasBody
        ? {
            'content-type': pick(
              [
                'application/json',
                'application/json',
                'text/plain',
                'application/x-www-form-urlencoded',
                'application/zip',
              ],
              'text/plain',
            ),
          }
        : {}),
      ...(next(10) === 0 ? { 'idempotency-key': pick(['k', 'é', 'x'.repeat(300)], 'k') } : {}),
    }
    const { statusCode } = await app.inject({ method, url, headers, ...(hasBody ? { payload: body } : {}) })
    if (statusCode >= 500)
      failures.push(`${statusCode} ${method} ${url.slice(0, 200)} ${hasBody ? body.slice(0, 300) : ''}`)
  }

  delay.disable()
  t.diagnostic(`${REQUESTS} requests, seed ${SEED}; longest block of the event loop ${Math.round(delay.max / 1e6)} ms`)
  assert.deepEqual(failures, [], lines.slice(-5).join(''))
})

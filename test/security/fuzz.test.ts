// Random requests to every route: no input may cause a 5xx, hold the event loop or leave memory behind. REEVE_FUZZ_REQUESTS sets
// how many (`npm run test:slow -- fuzz-http`: a million).
import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ROLES } from '../../src/core/identity/role.ts'
import { allDoors, routesOf } from './all-doors.ts'
import { openFuzzer } from './fuzzing.ts'

const REQUESTS = Number(process.env['REEVE_FUZZ_REQUESTS'] ?? 1500)
const SEED = Number(process.env['REEVE_FUZZ_SEED'] ?? 20_261_117)
const LANES = 8
// Some requests end the login that asked, or its account.
const NEW_CREDENTIALS_EVERY = 2000
const ROUNDS = 10
/** Between the first tenth of a long run, which fills caches, and its end. */
const GROWTH_MB_MAX = 64
const LONG_RUN = 50_000
const FAILURES_SHOWN = 20
/** Any route says so when the database has not answered in time, which a busy machine may cause. What an input causes, it causes again. */
const UNAVAILABLE = 503
/** They say so when one of their checks is not answered in time. */
const SAYS_503 = /^\/(readyz|api\/health)\b/

setFlagsFromString('--expose-gc')
const collectGarbage: unknown = runInNewContext('gc')

function usedMb(): number {
  assert(typeof collectGarbage === 'function')
  collectGarbage()
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return Math.round((heapUsed + external + arrayBuffers) / 1e6)
}

test('no random request causes a 5xx', { timeout: 4 * 3_600_000 }, async (t) => {
  const { app, newAccounts, tokenOf, keyOf, lines } = await allDoors(t)
  const next = openFuzzer(SEED, routesOf(app))
  const credentials = async () => [
    ...(await Promise.all(ROLES.map(async (role) => ({ authorization: `Bearer ${await tokenOf(role)}` })))),
    ...(await Promise.all(ROLES.map(async (role) => ({ 'x-api-key': await keyOf(role) })))),
    { authorization: 'Bearer x' },
    { authorization: 'Basic é' },
  ]
  let known = await credentials()
  let renewing: Promise<void> | null = null
  const renew = async () => {
    await newAccounts()
    known = await credentials()
    renewing = null
  }
  const delay = monitorEventLoopDelay({ resolution: 5 })
  const failures: string[] = []
  const statuses = new Map<number, number>()
  const memory: number[] = []
  delay.enable()

  const lane = async (count: number) => {
    for (let n = 0; n < count; n += 1) {
      const request = next(known)
      const first = await app.inject(request)
      const { statusCode } = first.statusCode === UNAVAILABLE ? await app.inject(request) : first
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
      if (statusCode >= 500 && !SAYS_503.test(request.url) && failures.length < FAILURES_SHOWN) {
        const { method, url, headers, payload } = request
        failures.push(`${statusCode} ${method} ${url} ${JSON.stringify(headers)} ${String(payload)}`.slice(0, 800))
      }
      if (n % NEW_CREDENTIALS_EVERY === NEW_CREDENTIALS_EVERY - 1) await (renewing ??= renew())
      lines.splice(0, lines.length - FAILURES_SHOWN)
    }
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(Array.from({ length: LANES }, () => lane(Math.ceil(REQUESTS / LANES / ROUNDS))))
    memory.push(usedMb())
    if (REQUESTS >= LONG_RUN) console.log(`${round + 1} of ${ROUNDS}: ${memory.at(-1)} MB, ${failures.length} failures`)
  }
  delay.disable()

  const counted = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
  t.diagnostic(`${REQUESTS} requests, seed ${SEED}; ${counted.join(', ')}`)
  t.diagnostic(`memory after each tenth, in MB: ${memory.join(', ')}`)
  t.diagnostic(
    `longest block of the event loop ${Math.round(delay.max / 1e6)} ms, 99.9 % below ${Math.round(delay.percentile(99.9) / 1e6)} ms`,
  )
  assert.deepEqual(failures, [], lines.join(''))
  if (REQUESTS >= LONG_RUN)
    assert((memory.at(-1) ?? 0) - (memory[0] ?? 0) < GROWTH_MB_MAX, `memory grew: ${memory.join(', ')}`)
})

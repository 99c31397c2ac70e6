// A real server on a database of its own, spoken to over HTTP and WebSocket only, in both modes: with PostgreSQL alone, and
// with Redis beside it.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { describe, test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import type { Role } from '../../../src/core/identity/role.ts'
import { atEnd } from '../../support/cleanup.ts'
import { newAccount } from '../../support/reeve.ts'
import { sharedRedis } from '../../support/servers.ts'
import { useReeve, type UseOptions } from '../../support/use-reeve.ts'
import { until } from '../../support/until.ts'

export { urlOf } from '../../support/reeve.ts'

export const MODES = ['PostgreSQL', 'Redis'] as const
export type Mode = (typeof MODES)[number]

/** One pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** The same test in both modes. */
export function inBothModes(name: string, body: (t: TestContext, mode: Mode) => Promise<void>): void {
  describe(name, () => {
    for (const mode of MODES) test(`with ${mode}`, (t) => body(t, mode))
  })
}

const ENV = { OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32', CAPTCHA_PROXY_IMPERSONATE: 'none' }

export type SetupOptions = UseOptions & { mode?: Mode }

export interface Answer {
  status: number
  headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- what a test reads, it asserts
  body: any
}

export interface Asker {
  username: string
  accountId: number
  token: string
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  patch(path: string, body: unknown): Promise<Answer>
  put(path: string, body: Uint8Array, type: string): Promise<Answer>
  delete(path: string): Promise<Answer>
}

export type Desk = Awaited<ReturnType<typeof setup>>

export async function setup(t: TestContext, { mode = 'PostgreSQL', env, ...options }: SetupOptions = {}) {
  const reeve = await useReeve(t, { doors: 'desk', ...options, env: { ...ENV, ...(await redisOf(mode)), ...env } })
  const account = (username: string, ...roles: Role[]) => askerFor(reeve.url, username, roles)
  return { ...reeve, account, ...tools(t, reeve.url) }
}

/** Redis is one for all tests: each has keys of its own. */
const redisOf = async (mode: Mode): Promise<Record<string, string>> =>
  mode === 'Redis' ? { REDIS_URL: await sharedRedis(), CAPTCHA_REDIS_PREFIX: `t${randomBytes(4).toString('hex')}` } : {}

/** One of each. */
export async function staffed(t: TestContext, options: SetupOptions = {}) {
  const desk = await setup(t, options)
  const [scraper, operator, other, admin] = await Promise.all([
    desk.account('sid', 'SCRAPER'),
    desk.account('ann', 'OPERATOR'),
    desk.account('bob', 'OPERATOR'),
    desk.account('eve', 'ADMIN'),
  ])
  /** A new task of the scraper. */
  const create = async (more: object = {}): Promise<Answer['body']> => {
    const { status, body } = await scraper.post('/api/v1/captcha/tasks', { url: 'https://shop.example/cart', ...more })
    assert.equal(status, 201, JSON.stringify(body))
    return body
  }
  const assign = (uuid: string, by: Asker = operator, more: object = {}) =>
    by.post(`/api/v1/captcha/tasks/${uuid}/assign`, { operator_id: by.username, ...more })
  const solve = (uuid: string, by: Asker = operator, more: object = {}) =>
    by.post(`/api/v1/captcha/tasks/${uuid}/solve`, { type: 'cookie', payload: [{ name: 'a', value: '1' }], ...more })
  /** The lock of this task ran out a moment ago, in the ledger and at the desk. */
  const expireLock = async (uuid: string) => {
    const past = `clock_timestamp() - interval '1 ms'`
    await desk.database.query(`update jobs set lease_until = ${past} where job_id = $1`, [uuid])
    await desk.database.query(`update captcha_task set locked_until = ${past} where uuid = $1`, [uuid])
  }
  return { ...desk, scraper, operator, other, admin, create, assign, solve, expireLock }
}

async function askerFor(url: string, username: string, roles: readonly Role[]): Promise<Asker> {
  const { accountId, token } = await newAccount(url, username, roles)
  const ask = async (method: string, path: string, init: RequestInit): Promise<Answer> => {
    const headers = { authorization: `Bearer ${token}`, ...Object.fromEntries(new Headers(init.headers)) }
    return answerOf(await fetch(url + path, { ...init, method, headers, redirect: 'manual' }))
  }
  const json = (body: unknown, headers: Record<string, string> = {}) =>
    body === undefined
      ? { headers }
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } }
  return {
    username,
    accountId,
    token,
    get: (path, headers = {}) => ask('GET', path, { headers }),
    post: (path, body, headers) => ask('POST', path, json(body, headers)),
    patch: (path, body) => ask('PATCH', path, json(body)),
    put: (path, body, type) => ask('PUT', path, { body: Buffer.from(body), headers: { 'content-type': type } }),
    delete: (path) => ask('DELETE', path, {}),
  }
}

export async function answerOf(response: Response): Promise<Answer> {
  const bytes = Buffer.from(await response.arrayBuffer())
  const isJson = response.headers.get('content-type')?.includes('json') === true
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(bytes.toString()) : bytes }
}

export interface SeenEvent {
  id: number
  type: string
  timestamp: string
  payload: Record<string, unknown>
}

function tools(t: TestContext, url: string) {
  /** A WebSocket whose events can be waited for. */
  const listen = async (by: Asker, path = '/ws/captcha', headers: Record<string, string> = {}) => {
    const socket = new WebSocket(url.replace('http', 'ws') + path, {
      headers: { authorization: `Bearer ${by.token}`, ...headers },
    })
    atEnd(t, () => socket.terminate())
    const events: SeenEvent[] = []
    socket.on('message', (data) => {
      const event: SeenEvent = JSON.parse(String(data))
      if (event.type !== 'connected') events.push(event)
    })
    await once(socket, 'open')
    const types = () => events.map(({ type }) => type)
    const untilType = async (type: string, count = 1) => {
      await until(`${count} × ${type}`, () => types().filter((one) => one === type).length >= count, types)
      return events.findLast((event) => event.type === type)
    }
    return { socket, events, types, untilType }
  }
  return { listen }
}

// A real server on a database of its own, spoken to over HTTP and WebSocket only, in both modes: with PostgreSQL alone, and
// with Redis beside it. Accounts and tokens are put into the database beforehand: hashing passwords takes longer than a test.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { Writable } from 'node:stream'
import { describe, test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { parseConfig } from '../../../src/core/config.ts'
import { openDatabase, type Database } from '../../../src/core/db/database.ts'
import { insertAccount } from '../../../src/core/identity/accounts.ts'
import type { Role } from '../../../src/core/identity/role.ts'
import { issueToken } from '../../../src/core/identity/tokens.ts'
import { openLog } from '../../../src/core/log.ts'
import { doorSettings, migrationFolders } from '../../../src/doors/outline.ts'
import { start } from '../../../src/main.ts'
import { atEnd } from '../../support/cleanup.ts'
import { freshDatabase } from '../../support/database.ts'
import { sharedRedis, temporaryFolder, type PgConnection } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

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

const ENV = {
  SERVER_PORT: '0',
  LOG_LEVEL: 'trace',
  DOORS: 'desk',
  DRAIN_TIMEOUT_SEC: '3',
  OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
  CAPTCHA_PROXY_IMPERSONATE: 'none',
  REEVE_ADMIN_USERNAME: 'root',
}

export const urlOf = ({ host, port, user, database }: PgConnection): string =>
  `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`

export interface SetupOptions {
  mode?: Mode
  env?: Record<string, string>
  on?: PgConnection
  role?: 'up' | 'serve'
  dataDir?: string
}

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

export async function setup(t: TestContext, options: SetupOptions = {}) {
  const { mode = 'PostgreSQL', role = 'up' } = options
  const at = options.on ?? (await freshDatabase(migrationFolders()))
  const dataDir = options.dataDir ?? (await temporaryFolder())
  if (options.dataDir === undefined) atEnd(t, () => rm(dataDir, { recursive: true, force: true }))
  const redis = mode === 'Redis' ? { REDIS_URL: await sharedRedis() } : {}
  const prefix = { CAPTCHA_REDIS_PREFIX: `t${randomBytes(4).toString('hex')}` }
  const env = { ...ENV, ...redis, ...prefix, REEVE_DATA_DIR: dataDir, DATABASE_URL: urlOf(at), ...options.env }
  const settings = parseConfig(env, doorSettings())
  const lines: string[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const running = await start({ settings, role, log: openLog(settings.core, destination) })
  atEnd(t, () => running.stop())
  const { url } = running
  assert(url !== null)

  const database = openDatabase(at, () => {})
  atEnd(t, () => database.close())
  const account = (username: string, ...roles: Role[]) => askerFor(database, url, username, roles)
  return { url, at, dataDir, database, lines, account, ...tools(t, url), stop: () => running.stop() }
}

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

async function askerFor(database: Database, url: string, username: string, roles: readonly Role[]): Promise<Asker> {
  const made = await insertAccount(database, { username, passwordHash: 'none', roles })
  assert(made !== null)
  const { token } = await issueToken(database, made.accountId, 3600)
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
    accountId: made.accountId,
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
    socket.on('message', (data) => events.push(JSON.parse(String(data))))
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

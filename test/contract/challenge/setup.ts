// Real servers on a database of their own, spoken to over HTTP only. What they sign is checked, and what is sent to them
// is signed, with node:crypto here: not with the code under test.
// Tests are titled by the clauses of docs/challenge.md.
import { createHash, createHmac, randomUUID } from 'node:crypto'
import http from 'node:http'
import type { TestContext } from 'node:test'
import { atEnd } from '../../support/cleanup.ts'
import { newAccount, TEST_ENV, tokenOf } from '../../support/reeve.ts'
import { startRedis } from '../../support/servers.ts'
import { useReeve, type UseOptions } from '../../support/use-reeve.ts'
import { listen } from '../../support/listen.ts'

export { urlOf } from '../../support/reeve.ts'

export const SOLVER_KEY = { keyId: 'solver-kid-1', secret: 'solver secret' }
export const CHAL_KEY = { keyId: 'chal-kid-1', secret: 'chal secret' }

export const ENV = {
  ...TEST_ENV,
  DOORS: 'challenge',
  SOLVER_HMAC_SECRET: SOLVER_KEY.secret,
  CHAL_HMAC_SECRET: CHAL_KEY.secret,
  ALLOW_INSECURE_CALLBACKS: 'true',
  OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
}

/** With PostgreSQL as the feed and with Redis. */
export const FEEDS = ['PostgreSQL', 'Redis'] as const
export type FeedName = (typeof FEEDS)[number]

/** Redis holds no namespaces: each test has a server of its own. */
export async function feedEnv(t: TestContext, feed: FeedName): Promise<Record<string, string>> {
  if (feed === 'PostgreSQL') return {}
  const redis = await startRedis()
  atEnd(t, redis.stop)
  return { REDIS_URL: redis.at }
}

export type ServerOptions = UseOptions & { feed?: FeedName }

export async function startServer(t: TestContext, { feed = 'PostgreSQL', env, ...options }: ServerOptions = {}) {
  const redis = await feedEnv(t, feed)
  return useReeve(t, { ...options, env: { ...ENV, ...redis, ...env } })
}

export interface Signing {
  key?: { keyId: string; secret: string }
  ts?: number
  nonce?: string
  headers?: Record<string, string>
  signedPath?: string
}

export const nowSec = () => Math.floor(Date.now() / 1000)

/** The headers of a signed request, written from docs/challenge.md. */
export function signedHeaders(path: string, body: string, options: Signing = {}): Record<string, string> {
  const { key = SOLVER_KEY, ts = nowSec(), nonce = randomUUID() } = options
  const hash = createHash('sha256').update(body).digest('hex')
  const canonical = `POST\n${options.signedPath ?? path.replace(/\?.*/, '')}\n${ts}\n${nonce}\n${hash}`
  const sig = createHmac('sha256', key.secret).update(canonical).digest('hex')
  return {
    'content-type': 'application/json',
    authorization: `RCS-HMAC-SHA256 keyId=${key.keyId},ts=${ts},nonce=${nonce},sig=${sig}`,
    ...options.headers,
  }
}

export async function post(url: string, body: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: 'POST', body, headers, redirect: 'manual' })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

export async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers })
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
}

export const postSigned = (base: string, path: string, body: object | string, options: Signing = {}) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return post(`${base}${path}`, text, signedHeaders(path, text, options))
}

export const solveBody = (challengeId: string, callbackUrl: string, more: object = {}) => ({
  api_version: 'v2.1',
  challenge_id: challengeId,
  problem: { type: 'math', expression: '17*23+4' },
  output_spec: {},
  constraints: {},
  callback_url: callbackUrl,
  ...more,
})

export interface Received {
  at: number
  path: string
  headers: http.IncomingHttpHeaders
  body: string
}

/** The other side: keeps what it is sent, and answers as it is told. */
export async function startReceiver(t: TestContext, answers: readonly (number | http.RequestListener)[] = []) {
  const received: Received[] = []
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { url: path = '', headers } = request
    received.push({ at: performance.now(), path, headers, body: Buffer.concat(chunks).toString() })
    const answer = answers[received.length - 1] ?? 200
    if (typeof answer === 'number') response.writeHead(answer).end('{}')
    else answer(request, response)
  })
  const port = await listen(t, server)
  return { url: `http://127.0.0.1:${port}`, received }
}

export async function login(base: string, username = 'admin') {
  const { token } = await tokenOf(base, username)
  return { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
}

/** An account with this role, as its headers. */
export async function account(base: string, username: string, roles: readonly string[] = ['CHALLENGER']) {
  await newAccount(base, username, roles)
  return login(base, username)
}

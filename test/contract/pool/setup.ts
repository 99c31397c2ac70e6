// Real servers on a database of their own, spoken to over HTTP only. What is sent to them is signed with node:crypto here,
// over bytes that are written from the contract: not with the code under test.
import assert from 'node:assert/strict'
import { createHash, createPrivateKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import type { TestContext } from 'node:test'
import { Client } from 'pg'
import { atEnd } from '../../support/cleanup.ts'
import { ADMIN, knowServer, newAccount, tokenOf } from '../../support/reeve.ts'
import type { PgConnection } from '../../support/servers.ts'
import { useReeve, type UseOptions } from '../../support/use-reeve.ts'

export { ADMIN, urlOf } from '../../support/reeve.ts'

const ENV = { ALLOW_INSECURE_CALLBACKS: 'true', OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32' }

export const SIX_DIGITS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

export type SetupOptions = UseOptions & {
  /** In place of one in this process. */
  server?: { url: string; at: PgConnection; stop(): Promise<void> }
}

export interface Answer {
  status: number
  headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects, and fails where that is not there
  body: any
  text: string
}

export type Pool = Awaited<ReturnType<typeof setup>>

export interface Worker {
  id: number
  /** Its owner's credentials. */
  by: Credentials
  privateKey: KeyObject
  publicKey: string
}

export const startServer = (t: TestContext, { env, ...options }: UseOptions = {}) =>
  useReeve(t, { doors: 'pool', ...options, env: { ...ENV, ...env } })

const register = async (url: string, username: string, role: string): Promise<Credentials> =>
  credentials(await newAccount(url, username, [role]))

const credentials = ({ token }: { token: string }): Credentials => ({ authorization: `Bearer ${token}` })

/** A server with an owner, a client and an admin, and short words for what a test does. */
export async function setup(t: TestContext, options: SetupOptions = {}) {
  const server = options.server ?? (await startServer(t, options))
  if (options.server !== undefined) knowServer(t, server.url, server.at)
  const [admin, owner, client] = await Promise.all([
    tokenOf(server.url, ADMIN.username).then(credentials),
    register(server.url, 'owner', 'WORKER_OWNER'),
    register(server.url, 'client', 'CLIENT'),
  ])
  const { at } = server
  const account = (username: string, role: string) => register(server.url, username, role)

  const ask = (method: string, path: string, body?: unknown, headers: Credentials = {}) =>
    send(server.url, method, path, body, headers)
  const worker = async (name: string, more: object = {}, by: Credentials = owner): Promise<Worker> => {
    const key = newKey()
    const made = await ask('POST', '/workers/register', { name, public_key: key.publicKey, ...more }, by)
    assert.equal(made.status, 201, made.text)
    return { id: Number(made.body.id), by, ...key }
  }
  const submitJob = async (job: object = {}, by: Credentials = client): Promise<string> => {
    const answer = await ask('POST', '/v1/jobs', { payload: { prompt: 'hello' }, ...job }, by)
    assert.equal(answer.status, 202, answer.text)
    return answer.body.job_id
  }
  const poll = ({ id, by }: Worker, waitSec = 0) =>
    ask('POST', '/jobs/poll', { worker_id: id }, { ...by, ...(waitSec === 0 ? {} : { prefer: `wait=${waitSec}` }) })
  const beat = ({ id, by }: Worker) => ask('POST', '/workers/heartbeat', { worker_id: id }, by)
  const submit = (from: Worker, assigned: Assigned, more: Partial<Submitted> = {}) =>
    ask('POST', '/jobs/submit', submission(from, assigned, more), from.by)
  const job = async (jobId: string, waitSec = 0, by: Credentials = client) =>
    (
      await ask('GET', `/v1/jobs/${jobId}`, undefined, {
        ...by,
        ...(waitSec === 0 ? {} : { prefer: `wait=${waitSec}` }),
      })
    ).body

  return { ...server, admin, owner, client, account, ask, worker, submitJob, poll, beat, submit, job, at }
}

/** A connection beside the server: to arrange what only time or an accident brings. */
export async function connect(t: TestContext, at: PgConnection): Promise<Client> {
  const database = new Client(at)
  await database.connect()
  atEnd(t, () => database.end())
  return database
}

/** All leases ran out a moment ago, and the workers have been silent for as long. */
export async function expireLeases(database: Client): Promise<void> {
  await database.query(`update jobs set lease_until = clock_timestamp() - interval '1 ms' where state = 'processing'`)
  await database.query(`update pool_workers set last_seen_at = clock_timestamp() - interval '1 hour'`)
}

export type Credentials = Record<string, string>

export interface Assigned {
  assignment_id: number
  nonce: string
}

export interface Submitted {
  output: unknown
  output_hash: string | null
  error_message: string | null
  [field: string]: unknown
}

export async function send(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Credentials = {},
): Promise<Answer> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  const type = text === undefined ? {} : { 'content-type': 'application/json' }
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...type, ...headers },
    ...(text === undefined ? {} : { body: text }),
  })
  const said = await response.text()
  return { status: response.status, headers: response.headers, body: said === '' ? null : JSON.parse(said), text: said }
}

export async function login(url: string, username: string, password: string): Promise<Credentials> {
  const { body } = await send(url, 'POST', '/auth/login', { username, password })
  return { authorization: `Bearer ${body.access_token}` }
}

export function newKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return { privateKey, publicKey: String(publicKey.export({ format: 'jwk' }).x) }
}

export const keyFrom = (x: string, d: string): KeyObject =>
  createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', x, d }, format: 'jwk' })

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The contract's object, written out: its keys are in order, and its strings hold nothing to escape. */
export const signedBytes = (assignmentId: number, nonce: string, outputHash: string | null): string =>
  `{"assignment_id":${assignmentId},"nonce":"${nonce}","output_hash":${outputHash === null ? 'null' : `"${outputHash}"`}}`

export const signed = (key: KeyObject, assignmentId: number, nonce: string, outputHash: string | null): string =>
  sign(null, Buffer.from(signedBytes(assignmentId, nonce, outputHash)), key).toString('base64url')

export const OUTPUT = { ok: true }
export const OUTPUT_HASH = sha256('{"ok":true}')

export function submission(
  from: { id: number; privateKey: KeyObject },
  { assignment_id, nonce }: Assigned,
  more: Partial<Submitted> = {},
) {
  const { output = OUTPUT, output_hash = OUTPUT_HASH } = more
  const signature = signed(from.privateKey, assignment_id, nonce, output_hash)
  return { worker_id: from.id, assignment_id, nonce, signature, ...more, output, output_hash }
}

// Real servers with real sandboxes on a database of their own, spoken to over HTTP only. What judging keeps on disk is shared: the
// sandbox is built once, and a program that two tests submit is compiled once.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Client } from 'pg'
import { atEnd } from '../../support/cleanup.ts'
import { newAccount, tokenOf } from '../../support/reeve.ts'
import type { PgConnection } from '../../support/servers.ts'
import { useReeve, type UseOptions } from '../../support/use-reeve.ts'
import { packageOf } from '../../support/zip.ts'

const ENV = {
  DRAIN_TIMEOUT_SEC: '5',
  JUDGE_SLOTS: '2',
  JOB_RETRY_BASE_MS: '1',
  JOB_RECLAIM_INTERVAL_SEC: '1',
}

export type ServerOptions = Omit<UseOptions, 'dataDir'> & { folder?: string }

export async function startServer(t: TestContext, { folder, env, ...options }: ServerOptions = {}) {
  const level = options.lines === undefined ? {} : { LOG_LEVEL: 'info' }
  const settings = { ...ENV, ...level, ...env }
  const reeve = await useReeve(t, { doors: 'judge', ...options, dataDir: folder, env: settings })
  return { ...reeve, folder: reeve.dataDir }
}

export interface Answer {
  status: number
  headers: Headers
  // What the contract says is in it is for the test to look at.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
}

export interface Asking {
  method?: string
  body?: unknown
  bytes?: Uint8Array<ArrayBuffer>
  headers?: Record<string, string>
}

export async function ask(url: string, { method, body, bytes, headers = {} }: Asking = {}): Promise<Answer> {
  const content = bytes ?? (body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body))
  const response = await fetch(url, {
    method: method ?? (content === undefined ? 'GET' : 'POST'),
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(content === undefined ? {} : { body: content }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

export async function login(base: string, username = 'admin') {
  const { token } = await tokenOf(base, username)
  return { authorization: `Bearer ${token}` }
}

/** An account of its own, as its headers. */
export async function account(base: string, username: string, roles: readonly string[] = []) {
  await newAccount(base, username, roles)
  return login(base, username)
}

export type Credentials = Record<string, string>

export async function putProblem(base: string, id: string, zip: Uint8Array<ArrayBuffer> = packageOf()) {
  const headers = { ...(await login(base)), 'content-type': 'application/zip' }
  return ask(`${base}/problems/${id}`, { method: 'PUT', bytes: zip, headers })
}

export const submit = (base: string, who: Credentials, body: object, headers: Record<string, string> = {}) =>
  ask(`${base}/submit`, { body: { problem_id: 'twice', language: 'c', ...body }, headers: { ...who, ...headers } })

/** As it is once it is judged. */
export async function judged(base: string, who: Credentials, jobId: string) {
  for (;;) {
    const { body } = await ask(`${base}/status/${jobId}`, { headers: { ...who, prefer: 'wait=50' } })
    if (body.status === 'FINISHED') return body
  }
}

export async function judge(base: string, who: Credentials, body: object) {
  const accepted = await submit(base, who, body)
  assert.equal(accepted.status, 202, JSON.stringify(accepted.body))
  return judged(base, who, accepted.body.job_id)
}

/** A server, the problem `twice`, and somebody to submit to it. */
export async function setup(t: TestContext, options: ServerOptions = {}) {
  const server = await startServer(t, options)
  assert.equal((await putProblem(server.url, 'twice')).status, 201)
  return { ...server, ann: await account(server.url, 'ann') }
}

/** For what no client could do. */
export async function openClient(t: TestContext, at: PgConnection): Promise<Client> {
  const client = new Client(at)
  await client.connect()
  atEnd(t, () => client.end())
  return client
}

export { urlOf } from '../../support/reeve.ts'

export const TWICE = {
  accepted: '#include <stdio.h>\nint main(void) { int n; scanf("%d", &n); printf("%d\\n", 2 * n); }\n',
  wrong: '#include <stdio.h>\nint main(void) { puts("42"); }\n',
  /** Until it is out of processor time. */
  spinning: 'int main(void) { for (volatile int i = 0;; i++); }\n',
  /** Until it is out of time, at no cost: for tests that need it to be running. */
  slow: '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n',
}

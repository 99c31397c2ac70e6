// A bounded load on all doors that need no sandbox, by clients that do what clients should: they repeat a request that got no answer, or 503, with
// the same idempotency key. Any other 5xx, and any refusal, is a failure.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { ReeveClient } from '@reeve/sdk'
import { generateKey, runWorker } from '@reeve/sdk/pool'
import { until } from '../support/until.ts'
import { ADMIN } from './process.ts'

const PACE_MS = 20
const TRIES = 200
const RETRY_MS = 100
const WORKERS = 2

type Send = <Body>(method: string, path: string, body?: object, headers?: Record<string, string>) => Promise<Body>

/** One thing that is accepted, and must be done once. */
interface Traffic {
  /** Of the ledger. */
  kind: string
  /** Resolves to its id once it is accepted. */
  submit(number: number): Promise<string>
  /** Null: it has not ended yet. */
  outcome(id: string): Promise<unknown>
  expected(number: number): unknown
}

export interface Load {
  /** So many more of each kind are accepted. */
  done(operations: number): Promise<void>
  /** Submits no more. */
  stop(): Promise<void>
  /** All that was accepted has ended, as it should. */
  check(): Promise<void>
  accepted(): Record<string, number>
}

export async function startLoad(url: string): Promise<Load> {
  const admin = sender(url, await tokenOf(url, ADMIN))
  const account = { username: 'load', password: 'a long password' }
  const roles = ['CLIENT', 'WORKER_OWNER', 'SCRAPER', 'OPERATOR', 'CHALLENGER']
  await admin('POST', '/admin/users', { ...account, roles })
  const token = await tokenOf(url, account)
  const send = sender(url, token)
  const kinds = [echo(admin), pool(send), challenge(send), desk(send)]
  const ids = new Map<Traffic, string[]>(kinds.map((kind) => [kind, []]))
  const enoughSubmitted = new AbortController()
  let failure: Error | null = null

  const submitAll = async (kind: Traffic) => {
    const taken = ids.get(kind) ?? []
    while (!enoughSubmitted.signal.aborted) {
      taken.push(await kind.submit(taken.length))
      await sleep(PACE_MS)
    }
  }
  const submitting = kinds.map((kind) => submitAll(kind).catch((error) => void (failure = error)))
  const ended = new AbortController()
  const working = Array.from({ length: WORKERS }, (_, index) => work(url, token, `worker-${index}`, ended.signal))

  return {
    async done(operations) {
      const before = kinds.map((kind) => ids.get(kind)?.length ?? 0)
      const enough = () =>
        kinds.every((kind, index) => (ids.get(kind)?.length ?? 0) >= (before[index] ?? 0) + operations)
      await until('the load goes on', () => failure !== null || enough())
      if (failure !== null) throw failure
    },
    async stop() {
      enoughSubmitted.abort()
      await Promise.all(submitting)
      if (failure !== null) throw failure
    },
    async check() {
      for (const kind of kinds) {
        for (const [number, id] of (ids.get(kind) ?? []).entries()) {
          let seen: unknown = null
          await until(`${kind.kind} ${id} has ended`, async () => (seen = await kind.outcome(id)) !== null)
          assert.deepEqual(seen, kind.expected(number), `${kind.kind} ${id}`)
        }
      }
      ended.abort()
      await Promise.all(working)
    },
    accepted: () => Object.fromEntries(kinds.map((kind) => [kind.kind, ids.get(kind)?.length ?? 0])),
  }
}

function echo(send: Send): Traffic {
  type Job = { state: string; result: unknown }
  return {
    kind: 'echo',
    submit: async (number) => {
      const body = { kind: 'echo', payload: { number, sleep_ms: 20 } }
      return (await send<{ job_id: string }>('POST', '/admin/jobs', body, once('echo', number))).job_id
    },
    outcome: async (id) => {
      const { state, result } = await send<Job>('GET', `/admin/jobs/${id}`)
      return state === 'done' || state === 'dead' ? result : null
    },
    expected: (number) => ({ number, sleep_ms: 20 }),
  }
}

function pool(send: Send): Traffic {
  type Job = { status: string; result: { output: unknown } | null }
  return {
    kind: 'pool',
    submit: async (number) =>
      (await send<{ job_id: string }>('POST', '/v1/jobs', { payload: { number } }, once('pool', number))).job_id,
    outcome: async (id) => (await send<Job>('GET', `/v1/jobs/${id}`)).result?.output ?? null,
    expected: (number) => ({ seen: number }),
  }
}

async function work(url: string, token: string, name: string, signal: AbortSignal): Promise<void> {
  const client = new ReeveClient({ url, token })
  const key = generateKey()
  const { id } = await client.pool.register({ name, public_key: key.x })
  const handler = async (job: unknown) => ({ output: { seen: Number(Object(job).number) } })
  await runWorker({ client, workerId: id, key, signal, waitSec: 1, handler })
}

function challenge(send: Send): Traffic {
  type Seen = { state: string; results: { is_correct: boolean }[] }
  return {
    kind: 'solve',
    submit: async (number) => {
      const id = `c${number}`
      const problem = { type: 'math', expression: `${number}+1` }
      const rule = { validation_rule: { type: 'ExactMatch' }, answer: String(number + 1) }
      await send('POST', '/challenges', { challenge_id: id, problem, ...rule }, once('challenge', number))
      await send('POST', `/challenges/${id}/send`, {})
      return id
    },
    outcome: async (id) => {
      const { state, results } = await send<Seen>('GET', `/challenges/${id}`)
      return results.length === 0 ? null : { state, correct: results.map((one) => one.is_correct) }
    },
    expected: () => ({ state: 'completed', correct: [true] }),
  }
}

function desk(send: Send): Traffic {
  const tasks = '/api/v1/captcha/tasks'
  type Task = { uuid: string; status: string }
  return {
    kind: 'desk',
    submit: async (number) => {
      const { uuid } = await send<Task>('POST', tasks, { url: `https://n${number}.shop.test/` }, once('desk', number))
      await send('POST', `${tasks}/${uuid}/assign`, { operator_id: 'load' })
      const payload = [{ name: 'number', value: String(number) }]
      await send('POST', `${tasks}/${uuid}/solve`, { type: 'cookie', payload })
      return uuid
    },
    outcome: async (id) => {
      const { status } = await send<Task>('GET', `${tasks}/${id}`)
      return status === 'solved' ? status : null
    },
    expected: () => 'solved',
  }
}

const once = (kind: string, number: number) => ({ 'idempotency-key': `${kind}-${number}` })

async function tokenOf(url: string, account: object): Promise<string> {
  const { access_token: token } = await sender(url, '')<{ access_token: string }>('POST', '/auth/login', account)
  return token
}

const sender =
  (url: string, token: string): Send =>
  async (method, path, body, headers = {}) => {
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const authorization = token === '' ? {} : { authorization: `Bearer ${token}` }
    const init = {
      method,
      headers: { ...headers, ...json, ...authorization },
      ...(body && { body: JSON.stringify(body) }),
    }
    for (let tries = 0; tries < TRIES; tries += 1) {
      const answer = await asked(`${url}${path}`, init)
      if (answer !== null && answer.status < 300) return JSON.parse(answer.text)
      const isDocumented = answer === null || (answer.status === 503 && answer.retryAfter !== null)
      assert(isDocumented, `${method} ${path}: ${answer?.status} ${answer?.text}`)
      await sleep(RETRY_MS)
    }
    return assert.fail(`${method} ${path}: no answer`)
  }

/** Null: the connection broke. */
async function asked(url: string, init: RequestInit) {
  try {
    const response = await fetch(url, init)
    return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() }
  } catch {
    return null
  }
}

// The largest requests that each door takes, and the largest answers that it gives.
import { createHash, randomUUID } from 'node:crypto'
import { authorization } from '@reeve/sdk/challenge'
import { generateKey, outputHash, signSubmission } from '@reeve/sdk/pool'
import { TESTS } from './package.ts'
import { SECRET, type WatchedServer } from './server.ts'

const MB = 1_000_000
const BODY = 5 * MB - 2_000 // below the limit, with what surrounds it
const JSON_TYPE = 'application/json'

export interface LargeRequest {
  name: string
  /** Makes what the request needs. Its cost is not measured. */
  prepare?: () => Promise<void>
  send(): Promise<Response>
  isRefused?: boolean
}

/** In this order: some need what came before. */
export function largeRequests(server: WatchedServer, packageBytes: Uint8Array<ArrayBuffer>): LargeRequest[] {
  const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(`${server.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${server.token}`,
        ...(body === undefined ? {} : { 'content-type': JSON_TYPE }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  return [
    ...anywhere(ask),
    ...ofChallenges(server, ask),
    ...ofPool(ask),
    ...ofJudge(server, ask, packageBytes),
    {
      name: 'GET /api/leaderboard, page 1,000 of 100,000 accounts',
      send: () => ask('GET', '/api/leaderboard?page=1000&size=50'),
    },
    { name: 'GET /docs/json', send: () => ask('GET', '/docs/json') },
    { name: 'GET /admin/status', send: () => ask('GET', '/admin/status') },
    { name: 'GET /admin/jobs', send: () => ask('GET', '/admin/jobs?limit=200') },
  ]
}

type Asker = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>

function anywhere(ask: Asker): LargeRequest[] {
  const bodies: [string, string][] = [
    ['one string', JSON.stringify({ payload: 'x'.repeat(BODY) })],
    ['escapes', `{"payload":"${'\\n'.repeat(BODY / 2)}"}`],
    ['escaped quotes', `{"payload":"${'\\"'.repeat(BODY / 2)}"}`],
    ['escaped code points', `{"payload":"${'\\u00e9'.repeat(BODY / 6)}"}`],
    ['numbers', `{"payload":[${'1,'.repeat(BODY / 2)}1]}`],
    ['brackets', '['.repeat(BODY)],
    ['no JSON', 'x'.repeat(BODY)],
  ]
  return bodies.map(([what, body]) => {
    return { name: `5 MB that no route takes: ${what}`, send: () => ask('POST', '/challenges', body), isRefused: true }
  })
}

function ofChallenges({ url }: WatchedServer, ask: Asker): LargeRequest[] {
  const signed = (path: string, keyId: string, value: object) => {
    const body = JSON.stringify(value)
    const parts = { method: 'POST', path, ts: Math.floor(Date.now() / 1000), nonce: randomUUID(), body }
    const headers = { 'content-type': JSON_TYPE, authorization: authorization({ keyId, secret: SECRET }, parts) }
    return fetch(`${url}${path}`, { method: 'POST', headers, body })
  }
  const problem = { type: 'text', operation: 'upper', text: 'x'.repeat(BODY - 500) }
  let id = ''
  const create = (rule: object) => async () => {
    id = randomUUID()
    await ask('POST', '/challenges', {
      challenge_id: id,
      problem: { type: 'text' },
      validation_rule: rule,
      answer: 'x',
    })
  }
  const callback = () =>
    signed(`/callback/${id}`, 'chal-kid-1', {
      api_version: 'v2.1',
      challenge_id: id,
      solver_job_id: 'job',
      status: 'success',
      answer: 'x'.repeat(BODY),
    })
  return [
    {
      name: 'POST /challenges, a problem of 5 MB',
      send: () => ask('POST', '/challenges', { problem, validation_rule: { type: 'ExactMatch' }, answer: 'x' }),
    },
    {
      name: 'POST /solve, a problem of 5 MB',
      send: () =>
        signed('/solve', 'solver-kid-1', {
          api_version: 'v2.1',
          challenge_id: randomUUID(),
          problem,
          output_spec: {},
          callback_url: 'https://192.0.2.1/callback',
        }),
    },
    {
      name: 'POST /callback, an answer of 5 MB, exact match',
      prepare: create({ type: 'ExactMatch' }),
      send: callback,
    },
    {
      name: 'POST /callback, an answer of 5 MB, regular expression',
      prepare: create({ type: 'Regex', params: { pattern: '(x+x+)+y' } }),
      send: callback,
    },
    { name: 'GET /challenges', send: () => ask('GET', '/challenges') },
  ]
}

function ofPool(ask: Asker): LargeRequest[] {
  const key = generateKey()
  const output = `{"value":"${'x'.repeat(BODY - 1_500)}"}`
  const hash = outputHash(output)
  let worker = 0
  let jobId = ''
  let held = { assignment_id: 0, nonce: '' }
  const json = async <Body>(answer: Promise<Response>): Promise<Body> => JSON.parse(await (await answer).text())
  const payload = (size: number) => ({ payload: { text: 'x'.repeat(size) } })
  return [
    { name: 'POST /v1/jobs, a job of 5 MB', send: () => ask('POST', '/v1/jobs', payload(BODY - 500)) },
    {
      name: 'POST /v1/jobs, 5 MB of escaped quotes',
      send: () => ask('POST', '/v1/jobs', `{"payload":{"text":"${'\\"'.repeat(BODY / 2 - 50)}"}}`),
    },
    {
      name: 'POST /v1/jobs, 5 MB of Chinese',
      send: () => ask('POST', '/v1/jobs', `{"payload":{"text":"${'中'.repeat(BODY / 3 - 50)}"}}`),
    },
    {
      name: 'POST /v1/jobs, 5 MB of numbers',
      send: () => ask('POST', '/v1/jobs', `{"payload":{"numbers":[${'1,'.repeat(BODY / 2 - 50)}1]}}`),
    },
    {
      name: 'POST /jobs/poll, a job of 5 MB',
      async prepare() {
        worker = (
          await json<{ id: number }>(ask('POST', '/workers/register', { name: randomUUID(), public_key: key.x }))
        ).id
        jobId = (await json<{ job_id: string }>(ask('POST', '/v1/jobs', payload(BODY - 500)))).job_id
      },
      async send() {
        const answer = await ask('POST', '/jobs/poll', { worker_id: worker })
        if (answer.ok) held = await json(Promise.resolve(answer.clone()))
        return answer
      },
    },
    {
      name: 'POST /jobs/submit, an output of 5 MB',
      async prepare() {
        if (held.assignment_id !== 0) return
        held = await json(ask('POST', '/jobs/poll', { worker_id: worker }))
      },
      send() {
        const { assignment_id, nonce } = held
        held = { assignment_id: 0, nonce: '' }
        const signature = signSubmission(key, { assignment_id, nonce, output_hash: hash })
        const head = JSON.stringify({ worker_id: worker, assignment_id, nonce, signature, output_hash: hash })
        return ask('POST', '/jobs/submit', `${head.slice(0, -1)},"output":${output}}`)
      },
    },
    { name: 'GET /v1/jobs/{id}, a job of 5 MB', send: () => ask('GET', `/v1/jobs/${jobId}`) },
    { name: 'GET /v1/jobs', send: () => ask('GET', '/v1/jobs') },
  ]
}

function ofJudge({ url, token }: WatchedServer, ask: Asker, packageBytes: Uint8Array<ArrayBuffer>): LargeRequest[] {
  const code = `# ${createHash('sha256').update(packageBytes).digest('hex')}\nprint(2 * int(input()))\n`
  let jobId = ''
  return [
    {
      name: `PUT /problems/{id}, ${TESTS} tests`,
      send: () =>
        fetch(`${url}/problems/thousand`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/zip' },
          body: packageBytes,
        }),
    },
    { name: 'GET /problems/{id}', send: () => ask('GET', '/problems/thousand') },
    {
      name: 'POST /submit, until the verdict',
      async send() {
        const answer = await ask('POST', '/submit', { problem_id: 'thousand', language: 'python3', code })
        jobId = JSON.parse(await answer.clone().text()).job_id
        for (;;) {
          const status = await ask('GET', `/status/${jobId}`, undefined, { prefer: 'wait=50' })
          const { verdict } = JSON.parse(await status.text())
          if (typeof verdict === 'string') return answer
        }
      },
    },
    { name: `GET /status/{id}, ${TESTS} tests`, send: () => ask('GET', `/status/${jobId}`) },
    { name: 'GET /submissions', send: () => ask('GET', '/submissions') },
  ]
}

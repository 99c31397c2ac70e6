// The load of a drill: jobs of every kind, submitted by clients that ask again until they are answered, and the workers and operators
// who do what is done outside the server.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase, type Database } from '../../../src/core/db/database.ts'
import { insertAccount } from '../../../src/core/identity/accounts.ts'
import { ROLES } from '../../../src/core/identity/role.ts'
import { signedHeaders, solveBody, startReceiver } from '../../contract/challenge/setup.ts'
import { TWICE } from '../../contract/judge/setup.ts'
import { newKey, submission, type Worker } from '../../contract/pool/setup.ts'
import { atEnd } from '../../support/cleanup.ts'
import { loginOf } from '../../support/login.ts'
import { packageOf } from '../../support/zip.ts'
import type { Parts } from './parts.ts'

const TRY_MS = 5000
const RETRY_MS = 100
const WORKERS = 2
const TASKS = '/api/v1/captcha/tasks'

export interface Load {
  database: Database
  /** One job of each kind but a match, accepted. Answers with their ids. */
  submitOneEach(name: string): Promise<string[]>
  /** The n-th pair of players joins the queue. Answers with the matches that they get, with each other or with two others. */
  play(name: string, n: number): Promise<string[]>
  /** Stops the workers and the operator. */
  stop(): Promise<void>
}

interface Asked {
  path: string
  method?: string
  body?: object | string
  /** In place of a token, headers that are made anew for each try. */
  headers?: Record<string, string> | (() => Record<string, string>)
}

interface Answered {
  status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects, and fails where that is not there
  body: any
}

export async function startLoad(t: TestContext, { at, urls }: Parts, pairs: number): Promise<Load> {
  const database = openDatabase(at, () => {})
  atEnd(t, () => database.close())
  const account = await insertAccount(database, { username: 'drill', passwordHash: 'none', roles: [...ROLES] })
  assert(account !== null)
  const token = await loginOf(database, account.accountId)
  const over = new AbortController()
  atEnd(t, () => over.abort())
  const ask = openAsk(urls, token, over.signal)
  const receiver = await startReceiver(t)
  await putProblem(urls[0] ?? '', token)
  const outside = [again(over.signal, () => operate(ask))]
  for (let n = 0; n < WORKERS; n += 1) {
    const worker = await hire(ask, n)
    outside.push(again(over.signal, () => work(ask, worker)))
  }

  const players: Player[] = []
  for (let n = 0; n < pairs * 2; n += 1) players.push(await register(database, `player-${n}`))
  const play = async (name: string, n: number): Promise<string[]> => {
    const pair = players.slice(n * 2, n * 2 + 2)
    const matches = pair.map(async (player) => {
      const headers = { authorization: `Bearer ${player.token}`, 'idempotency-key': name }
      const { status, body } = await ask({ path: '/api/queue/join', body: { mode: 'normal' }, headers })
      assert.equal(status, 200, `${name}: ${JSON.stringify(body)}`)
      return nextMatch(database, player)
    })
    return Promise.all(matches)
  }

  const submitOneEach = async (name: string): Promise<string[]> => {
    const key = { 'idempotency-key': name }
    const solve = JSON.stringify(solveBody(name, `${receiver.url}/callback/${name}`))
    const program = { problem_id: 'twice', language: 'c', code: TWICE.accepted }
    const accepted = await Promise.all([
      ask({ path: '/admin/jobs', body: { kind: 'echo', payload: { name, sleep_ms: 100 } }, headers: key }),
      ask({ path: '/submit', body: program, headers: key }),
      ask({ path: '/v1/jobs', body: { payload: { name } }, headers: key }),
      ask({ path: TASKS, body: { url: `https://${name}.example/` }, headers: key }),
      ask({ path: '/solve', body: solve, headers: () => signedHeaders('/solve', solve) }),
    ])
    for (const { status, body } of accepted) assert(status < 300, `${name}: ${status} ${JSON.stringify(body)}`)
    const ids = accepted.slice(0, 4).map(({ body }) => String(body.job_id ?? body.uuid))
    return [...ids, await solveJob(database, name)]
  }
  return {
    database,
    submitOneEach,
    play,
    async stop() {
      over.abort()
      await Promise.all(outside)
    },
  }
}

type Ask = ReturnType<typeof openAsk>

/** Of whichever process answers. */
function openAsk(urls: readonly string[], token: string, over: AbortSignal) {
  let turn = 0
  return async ({ path, method = 'POST', body, headers = {} }: Asked): Promise<Answered> => {
    for (;;) {
      turn += 1
      const mine = typeof headers === 'function' ? headers() : { authorization: `Bearer ${token}`, ...headers }
      try {
        const response = await fetch(`${urls[turn % urls.length]}${path}`, {
          method,
          signal: AbortSignal.timeout(TRY_MS),
          headers: { 'content-type': 'application/json', ...mine },
          ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        })
        const text = await response.text()
        if (response.status < 500 && response.status !== 429)
          return { status: response.status, body: text === '' ? null : JSON.parse(text) }
      } catch {
        // it is away
      }
      if (over.aborted) throw new Error('The drill is over.')
      await sleep(RETRY_MS)
    }
  }
}

async function putProblem(url: string, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/zip' }
  const answer = await fetch(`${url}/problems/twice`, { method: 'PUT', headers, body: packageOf() })
  assert.equal(answer.status, 201, await answer.text())
}

async function solveJob(database: Database, name: string): Promise<string> {
  for (;;) {
    const rows = await database
      .query<{ job_id: string }>('select job_id from solve_requests where challenge_id = $1', [name])
      .catch(() => []) // it is away
    if (rows[0] !== undefined) return rows[0].job_id
    await sleep(RETRY_MS)
  }
}

interface Player {
  accountId: number
  token: string
  /** The matches that are known of. */
  matchIds: string[]
}

async function register(database: Database, username: string): Promise<Player> {
  const account = await insertAccount(database, { username, passwordHash: 'none', roles: [] })
  assert(account !== null)
  const { accountId } = account
  return { accountId, token: await loginOf(database, accountId), matchIds: [] }
}

const NEXT_MATCH = `
  select match_id from (select match_id, user_a, user_b from live_matches
                         union select match_id, user_a, user_b from match_results) as all_matches
   where $1 in (user_a, user_b) and match_id <> all ($2::uuid[])`

async function nextMatch(database: Database, { accountId, matchIds }: Player): Promise<string> {
  for (;;) {
    const rows = await database.query<{ match_id: string }>(NEXT_MATCH, [accountId, matchIds]).catch(() => []) // it is away
    if (rows[0] !== undefined) {
      matchIds.push(rows[0].match_id)
      return rows[0].match_id
    }
    await sleep(RETRY_MS)
  }
}

type DrillWorker = Omit<Worker, 'by'>

async function hire(ask: Ask, n: number): Promise<DrillWorker> {
  const key = newKey()
  const { body } = await ask({ path: '/workers/register', body: { name: `w${n}`, public_key: key.publicKey } })
  return { id: Number(body.id), ...key }
}

async function work(ask: Ask, worker: DrillWorker): Promise<void> {
  const { status, body } = await ask({ path: '/jobs/poll', body: { worker_id: worker.id } })
  if (status === 200) await ask({ path: '/jobs/submit', body: submission(worker, body) })
}

/** Solves whatever waits. */
async function operate(ask: Ask): Promise<void> {
  const { body } = await ask({ path: `${TASKS}/pending`, method: 'GET' })
  for (const { uuid } of body.tasks) {
    await ask({ path: `${TASKS}/${uuid}/solve`, body: { type: 'token', payload: 'tok' } })
  }
}

async function again(over: AbortSignal, turn: () => Promise<void>): Promise<void> {
  while (!over.aborted) {
    await turn().catch((error: unknown) => assert(over.aborted, String(error)))
    await sleep(RETRY_MS)
  }
}

// The program's side, with the SDK: the helper functions, and the waiting race.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import {
  CaptchaSession,
  checkCachedSession,
  createCaptchaTask,
  createTaskAndWait,
  executeWithCaptchaHandling,
  injectSessionCookies,
  pollForSession,
  SessionMismatch,
  waitForSolution,
  waitForTask,
} from '@reeve/sdk/desk'
import { ReeveClient } from '@reeve/sdk'
import { atEnd } from '../../support/cleanup.ts'
import { nodeArgs } from '../../support/program.ts'
import { startRedis } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { inBothModes, setup, staffed, type Mode, type SetupOptions } from './setup.ts'

const URL_ = 'https://shop.example/cart'
const PROXY = 'http://user:secret@10.0.0.1:3128'

async function program(
  t: TestContext,
  mode: Mode = 'PostgreSQL',
  { env, ...options }: Pick<SetupOptions, 'env' | 'lines'> = {},
) {
  const desk = await staffed(t, { mode, ...options, env: { CAPTCHA_PROXIES: PROXY, ...env } })
  const { url, scraper } = desk
  const reeve = new ReeveClient({ url, token: scraper.token })
  /** Solves whatever waits, once there is something. */
  const solveNext = async (more: object = {}) => {
    await until('a task waits', async () => (await desk.operator.get('/api/v1/captcha/tasks/pending')).body.total > 0)
    const { body } = await desk.operator.get('/api/v1/captcha/tasks/pending')
    return desk.solve(body.tasks[0].uuid, desk.operator, more)
  }
  return { ...desk, reeve, solveNext }
}

const session = (more: object = {}) =>
  new CaptchaSession({
    domain: 'shop.example',
    cookies: { cf_clearance: 'abc', a: '1' },
    user_agent: 'Agent/1',
    proxy_url: null,
    task_uuid: 'u',
    created_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + 60_000).toISOString(),
    ...more,
  })

test('desk 8.1: injectSessionCookies adds cookies and user agent, and keeps what was there', () => {
  const headers = { Accept: '*/*', cookie: 'b=2; a=0' }

  assert.deepEqual(injectSessionCookies(headers, session()), {
    Accept: '*/*',
    cookie: 'b=2; a=1; cf_clearance=abc',
    'User-Agent': 'Agent/1',
  })
  assert.deepEqual(headers, { Accept: '*/*', cookie: 'b=2; a=0' })
})

test('desk 8.2: a session refuses another proxy and another user agent than it was made with', () => {
  const plain = session()
  const proxied = session({ proxy_url: `${PROXY}/` })

  assert.throws(() => injectSessionCookies({ 'user-agent': 'Agent/2' }, plain), SessionMismatch)
  assert.throws(() => injectSessionCookies({}, plain, { proxyUrl: PROXY }), SessionMismatch)
  assert.throws(() => injectSessionCookies({}, proxied), SessionMismatch)
  assert.throws(() => injectSessionCookies({}, proxied, { proxyUrl: 'http://10.0.0.2:3128' }), SessionMismatch)
  assert.equal(injectSessionCookies({ 'user-agent': 'Agent/1' }, proxied, { proxyUrl: PROXY })['user-agent'], 'Agent/1')
  assert.deepEqual(CaptchaSession.fromDict(plain.toDict()), plain)
  assert.deepEqual(
    [plain.isValid(), plain.isValid(new Date(Date.now() + 90_000)), plain.getCfClearance()],
    [true, false, 'abc'],
  )
})

inBothModes(
  'desk 8.3: a program that meets a captcha waits for a person and goes on with the session',
  async (t, mode) => {
    const { reeve, solveNext } = await program(t, mode)

    const none = await checkCachedSession(URL_, reeve)
    const waiting = createTaskAndWait(URL_, reeve, { challengeType: 'cloudflare', userAgent: 'Agent/1', priority: 7 })
    await solveNext({ payload: [{ name: 'cf_clearance', value: 'abc' }] })
    const solved = await waiting
    const cached = await checkCachedSession('shop.example', reeve)
    const otherProxy = await checkCachedSession(URL_, reeve, { proxyUrl: PROXY })
    const otherAgent = await checkCachedSession(URL_, reeve, { userAgent: 'Agent/2' })

    assert.equal(none, null)
    assert.deepEqual([solved?.getCfClearance(), solved?.userAgent, solved?.domain], ['abc', 'Agent/1', 'shop.example'])
    assert.deepEqual([cached?.getCfClearance(), cached?.taskUuid], ['abc', solved?.taskUuid])
    assert.deepEqual([otherProxy, otherAgent], [null, null])
  },
)

test('desk 8.4: any final state ends the wait, and so does the time-out', async (t) => {
  const { url, scraper, reeve, operator } = await program(t)
  const task = await createCaptchaTask(URL_, reeve)
  const answered: string[] = []
  const noting: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init)
    answered.push(`${init?.method} ${new URL(String(input)).pathname}`)
    return answer
  }
  const noted = new ReeveClient({ url, token: scraper.token, fetch: noting })

  const early = await waitForTask(task.uuid, reeve, { timeoutMs: 50 })
  const waiting = createTaskAndWait(URL_, noted)
  const byDomain = waitForSolution(URL_, noted)
  // Whoever asks after the end of the task waits for another one.
  await until('both know of the task', () =>
    ['POST', 'GET'].every((method) => answered.includes(`${method} /api/v1/captcha/tasks`)),
  )
  await operator.post(`/api/v1/captcha/tasks/${task.uuid}/mark-unsolvable`, { reason: 'no' })
  const timedOut = await pollForSession('shop.example', reeve, { timeoutMs: 120, pollIntervalMs: 50 })

  assert.equal(early.status, 'pending')
  assert.deepEqual([await waiting, await byDomain, timedOut], [null, null, null])
})

test('desk 8.3: createTaskAndWait answers with the token or the answer of its own task', async (t) => {
  const { reeve, solveNext } = await program(t)

  const token = createTaskAndWait(URL_, reeve)
  await solveNext({ type: 'token', payload: 'tok' })
  const answer = createTaskAndWait(null, reeve, { form: { question: 'How many?' } })
  await solveNext({ type: 'answer', payload: 'three' })

  assert.deepEqual((await token)?.solution, { type: 'token', payload: 'tok', user_agent: null })
  assert.deepEqual((await answer)?.solution?.payload, { answer: 'three' })
})

test('desk 8.5: executeWithCaptchaHandling uses the cache, then asks a person, and reports a session that does not work', async (t) => {
  const { reeve, solveNext, admin } = await program(t)
  const seen: (string | undefined)[] = []
  const orchestrator = {
    async execute(_url: string, { headers }: { headers: Record<string, string> }) {
      seen.push(headers['Cookie'])
      const isLetIn = headers['Cookie'] === 'cf_clearance=good'
      return isLetIn ? { page: 'hello' } : { error_type: 'captcha_required', error: '403' }
    },
  }

  const running = executeWithCaptchaHandling({ orchestrator, url: URL_, reeve })
  await solveNext({ payload: [{ name: 'cf_clearance', value: 'stale' }] })
  await until('the stale one was tried', () => seen.length === 2)
  await solveNext({ payload: [{ name: 'cf_clearance', value: 'good' }] })
  const first = await running
  const second = await executeWithCaptchaHandling({ orchestrator, url: URL_, reeve })
  const { body } = await admin.get('/api/v1/captcha/audit?action=reported_bad')

  assert.deepEqual([first, second], [{ page: 'hello' }, { page: 'hello' }])
  assert.deepEqual(seen, [undefined, 'cf_clearance=stale', 'cf_clearance=good', 'cf_clearance=good'])
  assert.equal(body.entries.length, 1)
})

test('desk 8.5: executeWithCaptchaHandling leaves a session of another user agent alone and asks for its own', async (t) => {
  const { reeve, create, solve, solveNext } = await program(t)
  await solve((await create({ user_agent: 'Agent/1' })).uuid)
  const orchestrator = {
    execute: async (_url: string, { headers }: { headers: Record<string, string> }) =>
      headers['Cookie'] === undefined ? { error_type: 'captcha_required' } : { headers },
  }

  const running = executeWithCaptchaHandling({ orchestrator, url: URL_, reeve, headers: { 'user-agent': 'Agent/2' } })
  await solveNext({ payload: [{ name: 'b', value: '2' }] })

  assert.deepEqual(await running, { headers: { 'user-agent': 'Agent/2', Cookie: 'b=2' } })
})

inBothModes('desk 8.6: a solution before, between and after create, read and wait is never missed', async (t, mode) => {
  const { url, scraper, operator, solve } = await program(t, mode)
  const tasks = '/api/v1/captcha/tasks'
  /** What the operator does, and at which step of the program's. */
  const moments = [
    'as create is answered',
    'before the wait is sent',
    'while it waits',
    'after the wait was given up once',
  ] as const

  for (const [index, moment] of moments.entries()) {
    let solving: Promise<unknown> | null = null
    const solveIt = (uuid: string) => (solving ??= solve(uuid, operator, { type: 'token', payload: moment }))
    let waits = 0
    const racing: typeof fetch = async (input, init) => {
      const target = new URL(String(input))
      const isWait = init?.method === 'GET' && target.pathname.startsWith(`${tasks}/`)
      const uuid = target.pathname.split('/').at(-1) ?? ''
      if (isWait) waits += 1
      if (isWait && moment === 'before the wait is sent') await solveIt(uuid)
      if (isWait && moment === 'after the wait was given up once' && waits === 1) throw new TypeError('fetch failed')
      const answering = fetch(input, init)
      if (isWait && moment === 'while it waits') void solveIt(uuid)
      if (isWait && moment === 'after the wait was given up once' && waits === 2) await solveIt(uuid)
      const answer = await answering
      if (init?.method === 'POST' && moment === 'as create is answered') {
        const { uuid: made } = JSON.parse(await answer.clone().text())
        await solveIt(made)
      }
      return answer
    }
    const reeve = new ReeveClient({ url, token: scraper.token, fetch: racing })

    const got = await createTaskAndWait(`https://s${index}.example/`, reeve, { timeoutMs: 30_000 })

    assert.equal(got?.solution?.payload, moment)
  }
})

inBothModes('desk 8.6: a wait for a domain that begins before any task exists is woken', async (t, mode) => {
  const { reeve, solve, create } = await program(t, mode)

  const waiting = Array.from({ length: 20 }, () => waitForSolution('shop.example', reeve, { timeoutMs: 30_000 }))
  const { uuid } = await create()
  await solve(uuid)

  for (const got of await Promise.all(waiting)) assert.equal(got?.taskUuid, uuid)
})

test('desk 8.6: every wait ends when the tasks are solved at another server and Redis is killed meanwhile', async (t) => {
  const redis = await startRedis()
  atEnd(t, () => redis.stop())
  const env = { REDIS_URL: redis.at }
  const { reeve, solve, create, at, dataDir, operator, url } = await program(t, 'PostgreSQL', { env })
  const second = await setup(t, { on: at, dataDir, env: { ...env, CAPTCHA_PROXIES: PROXY } })
  const uuids: string[] = []
  for (let n = 0; n < 12; n += 1) uuids.push((await create({ url: `https://s${n}.example/` })).uuid)

  const waiting = uuids.map((uuid) => waitForTask(uuid, reeve, { timeoutMs: 40_000 }))
  const elsewhere = {
    ...operator,
    post: async (path: string, body: unknown) => {
      const headers = { authorization: `Bearer ${operator.token}`, 'content-type': 'application/json' }
      const response = await fetch(second.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
    },
  }
  for (const [index, uuid] of uuids.entries()) {
    if (index === 6) await redis.stop()
    assert.equal((await solve(uuid, elsewhere)).status, 200)
  }
  const ended = await Promise.all(waiting)

  assert.notEqual(second.url, url)
  assert.deepEqual([...new Set(ended.map(({ status }) => status))], ['solved'])
})

test('desk 8.7: a wait without a time-out takes the server’s, and does not spin on a session of another variant', async (t) => {
  const lines: string[] = []
  const env = { CAPTCHA_WORKER_WAIT_TIMEOUT: '2' }
  const { reeve, create, solve, operator } = await program(t, 'PostgreSQL', { env, lines })
  const { uuid } = await create({ user_agent: 'Agent/1' })
  await solve(uuid, operator, { user_agent: 'Agent/1' })
  const reads = () => lines.filter((line) => line.includes('/sessions/') && line.includes('request completed')).length
  const before = reads()

  const began = performance.now()
  const waited = await waitForSolution(URL_, reeve, { userAgent: 'Agent/2' })
  const polled = await pollForSession(URL_, reeve, { userAgent: 'Agent/2' })
  const open = await create({ url: 'https://two.example/' })
  const task = await waitForTask(open.uuid, reeve)
  const tookMs = performance.now() - began

  assert.deepEqual([waited, polled, task.status], [null, null, 'pending'])
  assert(tookMs > 5900 && tookMs < 40_000, `${tookMs} ms for three waits of two seconds`)
  assert(reads() - before <= 6, `${reads() - before} reads`)
})

test('desk 8.9: the sample of the document type-checks and runs', async (t) => {
  const { url, solveNext, scraper } = await program(t)
  const { body: key } = await scraper.post('/auth/api-keys', { name: 'sample' })
  const document = await readFile('docs/desk.md', 'utf8')
  const env = { ...process.env, REEVE_URL: url, REEVE_API_KEY: key.api_key }

  const script = nodeArgs(new URL('./sample.ts', import.meta.url))
  const running = promisify(execFile)(process.execPath, script, { env })
  await solveNext({ payload: [{ name: 'cf_clearance', value: 'good' }] })
  const { stdout } = await running

  assert.match(stdout, /cf_clearance=good/)
  const sample = await readFile('test/contract/desk/sample.ts', 'utf8')
  assert(document.includes(`\`\`\`ts\n${sample}\`\`\``), 'the document shows the file that was run')
})

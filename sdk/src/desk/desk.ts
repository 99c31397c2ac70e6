// The program's side of the desk: look for a session, ask for one, wait for it and go on with it. `reeve` is a client with the role
// SCRAPER.
//
// A wait misses no solution: a task is read after it was created and before it is waited for, the server answers at the task's end,
// and a broken connection is opened again until the time is up.
import type { ReeveClient } from '../client.ts'
import {
  CaptchaSession,
  injectSessionCookies,
  userAgentOf,
  type SessionData,
  type Solution,
  type WireSession,
} from './session.ts'
import { ReeveError } from '../error.ts'

export { CaptchaSession, injectSessionCookies, SessionMismatch, type SessionData, type Solution } from './session.ts'

const WAIT_SEC_MAX = 50 // the server's
const WAIT_TIMEOUT_MS = 900_000
const POLL_INTERVAL_MS = 5000
const LOOK_AGAIN_SEC = 5
const RETRY_MS = 1000
const RETRIES_DEFAULT = 2

export type TaskStatus = 'pending' | 'in_progress' | 'solving' | 'failed' | 'solved' | 'expired' | 'unsolvable'

export interface CaptchaTask {
  id: number
  uuid: string
  url: string
  domain: string
  status: TaskStatus
  challenge_type: string | null
  priority: number
  assigned_to: string | null
  attempts: number
  has_solution: boolean
  solver_expires_at: string | null
  proxy_url: string | null
  user_agent: string | null
  last_error: string | null
  created_at: string
  updated_at: string
  expires_at: string | null
  /** In the creator's own view of a solved task. */
  solver_result?: Solution | null
  wait_timeout?: number
}

export interface TaskOptions {
  challengeType?: string
  errorMessage?: string
  requestId?: string
  priority?: number
  proxyUrl?: string
  userAgent?: string
  metadata?: Record<string, unknown>
  /** Gets a signed request when the task ends. */
  callbackUrl?: string
  scrapeOptions?: unknown
  /** A question to a person, with a small form. */
  form?: { question: string; fields?: readonly Record<string, unknown>[] }
  /** The same create may be repeated under it until it is answered. */
  idempotencyKey?: string
}

export interface WaitOptions {
  /** Default: what the server says (CAPTCHA_WORKER_WAIT_TIMEOUT, 15 minutes). */
  timeoutMs?: number
  signal?: AbortSignal
}

/** Only a session that was made with these. */
export interface Variant {
  proxyUrl?: string | null
  userAgent?: string | null
}

/** The cached session of a page's domain, if there is one. */
export async function checkCachedSession(
  urlOrDomain: string,
  reeve: ReeveClient,
  variant: Variant = {},
): Promise<CaptchaSession | null> {
  return pick((await readSessions(domainOf(urlOrDomain), reeve)).sessions, variant)
}

/** The same open work of the same program is the same task. */
export function createCaptchaTask(
  url: string | null,
  reeve: ReeveClient,
  options: TaskOptions = {},
): Promise<CaptchaTask> {
  const { idempotencyKey } = options
  return reeve.request('POST', '/api/v1/captcha/tasks', {
    headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
    body: {
      ...(url === null ? {} : { url }),
      challenge_type: options.challengeType,
      error_message: options.errorMessage,
      request_id: options.requestId,
      priority: options.priority,
      proxy_url: options.proxyUrl,
      user_agent: options.userAgent,
      metadata: options.metadata,
      scrape_options_json: options.scrapeOptions,
      callback_url: options.callbackUrl,
      form: options.form,
    },
  })
}

/** The task once it has ended (solved, unsolvable or expired), or as it is when the time is up. */
export async function waitForTask(uuid: string, reeve: ReeveClient, options: WaitOptions = {}): Promise<CaptchaTask> {
  const deadline = new Deadline(options.timeoutMs)
  const path = `/api/v1/captcha/tasks/${uuid}`
  for (;;) {
    // The first answer says how long to wait by default.
    const waitSec = deadline.isGuess ? 0 : Math.max(0, Math.min(WAIT_SEC_MAX, deadline.leftSec()))
    const task = await patiently<CaptchaTask>(deadline, options, () =>
      reeve.request('GET', path, { headers: { prefer: `wait=${waitSec}` }, ...signalOf(options) }),
    )
    deadline.setDefault(task.wait_timeout)
    if (isEnded(task) || deadline.isOver()) return task
  }
}

/**
 * Waits for a session of the domain, whoever asked for it and whenever. Null: the time is up, or the newest task of the
 * domain has ended without one.
 */
export async function waitForSolution(
  urlOrDomain: string,
  reeve: ReeveClient,
  options: WaitOptions & Variant = {},
): Promise<CaptchaSession | null> {
  const domain = domainOf(urlOrDomain)
  const deadline = new Deadline(options.timeoutMs)
  const before = await patiently(deadline, options, () => newestTask(domain, reeve))
  for (;;) {
    const waitSec = Math.min(LOOK_AGAIN_SEC, deadline.leftSec())
    const found = await patiently(deadline, options, () => readSessions(domain, reeve, waitSec, options))
    deadline.setDefault(found.waitTimeoutSec)
    const session = pick(found.sessions, options)
    if (session !== null || deadline.isOver()) return session

    const now = await patiently(deadline, options, () => newestTask(domain, reeve))
    const isOld = now === null || (now.id === before?.id && isEnded(before))
    if (!isOld && isEnded(now)) {
      // It may have been solved after the sessions were read.
      return pick((await patiently(deadline, options, () => readSessions(domain, reeve))).sessions, options)
    }
    // A session of another proxy or user agent answers the wait at once: pause before the next one.
    if (found.sessions.length > 0) await sleep(deadline.atMostMs(POLL_INTERVAL_MS), options.signal)
  }
}

/** Null: the time is up, or the task was not solved. */
export async function createTaskAndWait(
  url: string | null,
  reeve: ReeveClient,
  options: TaskOptions & WaitOptions = {},
): Promise<CaptchaSession | null> {
  const created = await createCaptchaTask(url, reeve, options)
  const task = isEnded(created) ? created : await waitForTask(created.uuid, reeve, options)
  return task.status === 'solved' ? sessionFrom(task) : null
}

/** Polls, for programs behind proxies that end requests which wait. */
export async function pollForSession(
  urlOrDomain: string,
  reeve: ReeveClient,
  options: WaitOptions & Variant & { pollIntervalMs?: number } = {},
): Promise<CaptchaSession | null> {
  const domain = domainOf(urlOrDomain)
  const deadline = new Deadline(options.timeoutMs)
  for (;;) {
    const found = await patiently(deadline, options, () => readSessions(domain, reeve))
    deadline.setDefault(found.waitTimeoutSec)
    const session = pick(found.sessions, options)
    if (session !== null || deadline.isOver()) return session
    await sleep(deadline.atMostMs(options.pollIntervalMs ?? POLL_INTERVAL_MS), options.signal)
  }
}

/** The site refused it: the session is deleted, and the operator's figures count it. */
export function reportBadSession(session: CaptchaSession, reeve: ReeveClient, reason?: string): Promise<unknown> {
  const body = reason === undefined ? {} : { reason }
  return reeve.request('POST', `/api/v1/captcha/tasks/${session.taskUuid}/report-bad`, { body })
}

export interface Executed {
  /** `captcha_required` is what is handled here. */
  error_type?: string | null
  error?: string | null
}

export interface Orchestrator<Result extends Executed> {
  execute(url: string, options: { headers: Record<string, string> }): Promise<Result>
}

/** Runs the request with the cached session; on a CAPTCHA asks for a new session and tries again. */
export async function executeWithCaptchaHandling<Result extends Executed>(
  options: {
    orchestrator: Orchestrator<Result>
    url: string
    reeve: ReeveClient
    headers?: Record<string, string>
    maxRetries?: number
  } & TaskOptions &
    WaitOptions,
): Promise<Result> {
  const { orchestrator, url, reeve, headers = {}, maxRetries = RETRIES_DEFAULT, proxyUrl } = options
  // The user agent of the requests: a session of another one would not be accepted, so that one of its own is asked for.
  const userAgent = options.userAgent ?? userAgentOf(headers)
  const agent = userAgent === undefined ? {} : { userAgent }
  const variant = { proxyUrl: proxyUrl ?? null, ...agent }
  let session = await checkCachedSession(url, reeve, variant)
  for (let retries = 0; ; retries += 1) {
    const injected = session === null ? headers : injectSessionCookies(headers, session, { proxyUrl: proxyUrl ?? null })
    const result = await orchestrator.execute(url, { headers: { ...injected } })
    if (result.error_type !== 'captcha_required' || retries >= maxRetries) return result

    if (session !== null) await reportBadSession(session, reeve, 'captcha_required').catch(() => {}) // it may be gone already
    const asked = { ...options, ...agent, ...(typeof result.error === 'string' ? { errorMessage: result.error } : {}) }
    session = await createTaskAndWait(url, reeve, asked)
    if (session === null) return result
  }
}

const isEnded = ({ status }: CaptchaTask): boolean =>
  status === 'solved' || status === 'expired' || status === 'unsolvable'

const pick = (sessions: readonly CaptchaSession[], variant: Variant): CaptchaSession | null =>
  sessions.find((session) => session.isValid() && session.fits(variant)) ?? null

interface FoundSessions {
  sessions: CaptchaSession[]
  /** CAPTCHA_WORKER_WAIT_TIMEOUT of the server. */
  waitTimeoutSec: number | undefined
}

async function readSessions(
  domain: string,
  reeve: ReeveClient,
  waitSec = 0,
  options: { signal?: AbortSignal } = {},
): Promise<FoundSessions> {
  type Found = { sessions: WireSession[]; wait_timeout?: number }
  const { sessions, wait_timeout: waitTimeoutSec } = await reeve.request<Found>(
    'GET',
    `/api/v1/captcha/sessions/${encodeURIComponent(domain)}`,
    { headers: waitSec > 0 ? { prefer: `wait=${waitSec}` } : {}, ...signalOf(options) },
  )
  return { sessions: sessions.map((session) => CaptchaSession.fromWire(session)), waitTimeoutSec }
}

async function newestTask(domain: string, reeve: ReeveClient): Promise<CaptchaTask | null> {
  const query = { domain, limit: 1, order: 'newest' }
  const { tasks } = await reeve.request<{ tasks: CaptchaTask[] }>('GET', '/api/v1/captcha/tasks', { query })
  return tasks[0] ?? null
}

/** From the task's own solution, which is there even if the cached session is not. */
function sessionFrom(task: CaptchaTask): CaptchaSession {
  const solution = task.solver_result ?? null
  const data: SessionData = {
    domain: task.domain,
    cookies: cookiesOf(solution?.payload),
    data: solution?.type === 'session' ? solution.payload : null,
    user_agent: solution?.user_agent ?? task.user_agent,
    proxy_url: task.proxy_url,
    task_uuid: task.uuid,
    created_at: task.updated_at,
    expires_at: task.solver_expires_at ?? new Date(Date.now() + WAIT_TIMEOUT_MS).toISOString(),
  }
  return new CaptchaSession(data, solution)
}

function cookiesOf(payload: unknown): Record<string, string> {
  const held = typeof payload === 'object' && payload !== null && 'cookies' in payload ? payload.cookies : payload
  if (!Array.isArray(held)) {
    const named = typeof held === 'object' && held !== null && held !== payload ? Object.entries(held) : []
    return Object.fromEntries(named.map(([name, value]) => [name, String(value)]))
  }
  const pairs = held.flatMap((one: unknown) =>
    typeof one === 'object' && one !== null && 'name' in one && 'value' in one
      ? [[String(one.name), String(one.value)] as const]
      : [],
  )
  return Object.fromEntries(pairs)
}

/** The host of a URL, or what was given. */
const domainOf = (urlOrDomain: string): string =>
  /^https?:\/\//i.test(urlOrDomain) ? new URL(urlOrDomain).host : urlOrDomain

/** When a wait ends. Without a time of the caller's own it follows what the server answers. */
class Deadline {
  readonly #startedAt = performance.now()
  #timeoutMs: number
  readonly #isDefault: boolean
  #isGuess: boolean

  constructor(timeoutMs: number | undefined) {
    this.#timeoutMs = timeoutMs ?? WAIT_TIMEOUT_MS
    this.#isDefault = timeoutMs === undefined
    this.#isGuess = this.#isDefault
  }

  /** The server has not answered yet. */
  get isGuess(): boolean {
    return this.#isGuess
  }

  setDefault(seconds: number | undefined): void {
    this.#isGuess = false
    if (this.#isDefault && seconds !== undefined) this.#timeoutMs = seconds * 1000
  }

  leftMs(): number {
    return this.#startedAt + this.#timeoutMs - performance.now()
  }

  leftSec(): number {
    return Math.ceil(this.leftMs() / 1000)
  }

  isOver(): boolean {
    return this.leftMs() <= 0
  }

  atMostMs(ms: number): number {
    return Math.min(ms, Math.max(1, this.leftMs()))
  }
}

const signalOf = ({ signal }: { signal?: AbortSignal }) => (signal === undefined ? {} : { signal })

/** A server that restarts, or a connection that breaks, is asked again until the time is up. A refusal ends the wait. */
async function patiently<T>(deadline: Deadline, options: { signal?: AbortSignal }, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const isPassing =
        error instanceof ReeveError ? error.status === 429 || error.status >= 500 : error instanceof TypeError
      if (!isPassing || options.signal?.aborted === true || deadline.leftMs() <= RETRY_MS) throw error
      await sleep(RETRY_MS, options.signal)
    }
  }
}

const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason ?? new Error('Aborted.'))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted === true) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })

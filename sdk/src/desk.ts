// The program's side of the desk: look for a session, ask for one, wait for it, go on with it. The names are those of the
// desk's contract; `reeve` is a client with the role SCRAPER.
//
// Waiting misses nothing: a task is read after it was created and before it is waited for, the server answers a wait at the
// task's end whenever that comes, and a connection that breaks is made again until the time is up.
import type { ReeveClient } from './client.ts'
import { CaptchaSession, injectSessionCookies, userAgentOf, type SessionData, type Solution } from './desk-session.ts'
import { ReeveError } from './error.ts'

export {
  CaptchaSession,
  injectSessionCookies,
  SessionMismatch,
  type SessionData,
  type Solution,
} from './desk-session.ts'

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
  /** In the creator's own view of a solved task. */
  solver_result?: Solution
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
  return pick(await sessionsOf(domainOf(urlOrDomain), reeve), variant)
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
      form: options.form,
    },
  })
}

/** The task once it has ended (solved, unsolvable or expired), or as it is when the time is up. */
export async function waitForTask(uuid: string, reeve: ReeveClient, options: WaitOptions = {}): Promise<CaptchaTask> {
  const deadline = deadlineOf(options.timeoutMs ?? WAIT_TIMEOUT_MS)
  const path = `/api/v1/captcha/tasks/${uuid}`
  for (;;) {
    const waitSec = Math.max(0, Math.min(WAIT_SEC_MAX, Math.ceil(leftMs(deadline) / 1000)))
    const task = await patiently<CaptchaTask>(deadline, options, () =>
      reeve.request('GET', path, { headers: { prefer: `wait=${waitSec}` }, ...signalOf(options) }),
    )
    if (isEnded(task) || leftMs(deadline) <= 0) return task
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
  const deadline = deadlineOf(options.timeoutMs ?? WAIT_TIMEOUT_MS)
  const before = await patiently(deadline, options, () => newestTask(domain, reeve))
  for (;;) {
    const waitSec = Math.min(LOOK_AGAIN_SEC, Math.ceil(leftMs(deadline) / 1000))
    const session = pick(await patiently(deadline, options, () => sessionsOf(domain, reeve, waitSec, options)), options)
    if (session !== null || leftMs(deadline) <= 0) return session

    const now = await patiently(deadline, options, () => newestTask(domain, reeve))
    const isOld = now === null || (now.id === before?.id && isEnded(before))
    if (isOld || !isEnded(now)) continue
    // It may have been solved after the session was asked for.
    return pick(await patiently(deadline, options, () => sessionsOf(domain, reeve)), options)
  }
}

/** Null: the time is up, or the task was not solved. */
export async function createTaskAndWait(
  url: string | null,
  reeve: ReeveClient,
  options: TaskOptions & WaitOptions = {},
): Promise<CaptchaSession | null> {
  const created = await createCaptchaTask(url, reeve, options)
  const { timeoutMs = (created.wait_timeout ?? WAIT_TIMEOUT_MS / 1000) * 1000 } = options
  const task = isEnded(created) ? created : await waitForTask(created.uuid, reeve, { ...options, timeoutMs })
  return task.status === 'solved' ? sessionFrom(task) : null
}

/** Asks again and again, for programs behind proxies that let no request wait. */
export async function pollForSession(
  urlOrDomain: string,
  reeve: ReeveClient,
  options: WaitOptions & Variant & { pollIntervalMs?: number } = {},
): Promise<CaptchaSession | null> {
  const domain = domainOf(urlOrDomain)
  const deadline = deadlineOf(options.timeoutMs ?? WAIT_TIMEOUT_MS)
  for (;;) {
    const session = pick(await patiently(deadline, options, () => sessionsOf(domain, reeve)), options)
    if (session !== null || leftMs(deadline) <= 0) return session
    await sleep(Math.min(options.pollIntervalMs ?? POLL_INTERVAL_MS, Math.max(1, leftMs(deadline))), options.signal)
  }
}

/** The site did not take it: it is thrown away, and the operator's numbers know of it. */
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

/** Does the work with the cached session; where a CAPTCHA stands in the way, asks for one and tries again. */
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
  // The agent that the requests will name: a session of another one would be refused, so that one of its own is asked for.
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

async function sessionsOf(
  domain: string,
  reeve: ReeveClient,
  waitSec = 0,
  options: { signal?: AbortSignal } = {},
): Promise<CaptchaSession[]> {
  const { sessions } = await reeve.request<{ sessions: SessionData[] }>(
    'GET',
    `/api/v1/captcha/sessions/${encodeURIComponent(domain)}`,
    { headers: waitSec > 0 ? { prefer: `wait=${waitSec}` } : {}, ...signalOf(options) },
  )
  return sessions.map((data) => new CaptchaSession(data))
}

async function newestTask(domain: string, reeve: ReeveClient): Promise<CaptchaTask | null> {
  const query = { domain, limit: 1 }
  const { tasks } = await reeve.request<{ tasks: CaptchaTask[] }>('GET', '/api/v1/captcha/tasks', { query })
  return tasks[0] ?? null
}

/** From the task's own solution: what was solved is used, even if the cache has forgotten it. */
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

const deadlineOf = (timeoutMs: number): number => performance.now() + timeoutMs
const leftMs = (deadline: number): number => deadline - performance.now()
const signalOf = ({ signal }: { signal?: AbortSignal }) => (signal === undefined ? {} : { signal })

/** A server that restarts, or a connection that breaks, is asked again until the time is up. A refusal is one at once. */
async function patiently<T>(deadline: number, options: { signal?: AbortSignal }, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const isPassing =
        error instanceof ReeveError ? error.status === 429 || error.status >= 500 : error instanceof TypeError
      if (!isPassing || options.signal?.aborted === true || leftMs(deadline) <= RETRY_MS) throw error
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

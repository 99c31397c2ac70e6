// A session: what a solution is cached as for its domain. It is valid with the proxy and the user agent that it was made with: a site
// that sees its cookies from elsewhere discards them, and the work of a person with them.

export interface Solution {
  type: 'cookie' | 'token' | 'session' | 'answer'
  payload: unknown
  user_agent: string | null
}

/** As the server sends it. */
export interface WireSession {
  domain: string
  cookies: readonly { name: string; value: string }[] | null
  data?: unknown
  user_agent: string | null
  proxy_url: string | null
  task_uuid: string
  created_at: string
  expires_at: string
}

/** As it is stored: cookies by name. */
export interface SessionData {
  domain: string
  cookies: Record<string, string>
  data?: unknown
  user_agent: string | null
  proxy_url: string | null
  task_uuid: string
  created_at: string
  expires_at: string
}

/** The session was made with another proxy or user agent. */
export class SessionMismatch extends Error {
  override name = 'SessionMismatch'
}

export class CaptchaSession {
  readonly domain: string
  readonly cookies: Readonly<Record<string, string>>
  /** The object, where the solution was one. */
  readonly data: unknown
  readonly userAgent: string | null
  readonly proxyUrl: string | null
  readonly taskUuid: string
  readonly createdAt: Date
  readonly expiresAt: Date
  /** Where the task was waited for: the solution itself, a token or an answer among others. */
  readonly solution: Solution | null

  constructor(data: SessionData, solution: Solution | null = null) {
    this.domain = data.domain
    this.cookies = { ...data.cookies }
    this.data = data.data ?? null
    this.userAgent = data.user_agent
    this.proxyUrl = data.proxy_url
    this.taskUuid = data.task_uuid
    this.createdAt = new Date(data.created_at)
    this.expiresAt = new Date(data.expires_at)
    this.solution = solution
  }

  static fromWire(session: WireSession): CaptchaSession {
    const cookies = (session.cookies ?? []).map(({ name, value }) => [name, value])
    return new CaptchaSession({ ...session, cookies: Object.fromEntries(cookies) })
  }

  static fromDict(data: SessionData): CaptchaSession {
    return new CaptchaSession(data)
  }

  isValid(now: Date = new Date()): boolean {
    return this.expiresAt > now
  }

  getCfClearance(): string | null {
    return this.cookies['cf_clearance'] ?? null
  }

  toDict(): SessionData {
    return {
      domain: this.domain,
      cookies: { ...this.cookies },
      data: this.data,
      user_agent: this.userAgent,
      proxy_url: this.proxyUrl,
      task_uuid: this.taskUuid,
      created_at: this.createdAt.toISOString(),
      expires_at: this.expiresAt.toISOString(),
    }
  }

  /** Whether it was made with this proxy and this user agent. Undefined: whichever. */
  fits({
    proxyUrl,
    userAgent,
  }: {
    proxyUrl?: string | null | undefined
    userAgent?: string | null | undefined
  }): boolean {
    const isProxy = proxyUrl === undefined || sameProxy(this.proxyUrl, proxyUrl)
    return isProxy && (userAgent === undefined || this.userAgent === null || userAgent === this.userAgent)
  }
}

/** The server spells an address in full: `http://host:80` comes back as `http://host/`. */
function sameProxy(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a === b
  return URL.canParse(a) && URL.canParse(b) ? new URL(a).href === new URL(b).href : a === b
}

/**
 * The headers with the session's cookies and user agent. `proxyUrl` is the proxy that the request will go through (none:
 * leave it out). Throws SessionMismatch where the session was made otherwise.
 */
export function injectSessionCookies(
  headers: Readonly<Record<string, string>>,
  session: CaptchaSession,
  options: { proxyUrl?: string | null } = {},
): Record<string, string> {
  const agentName = nameIn(headers, 'user-agent') ?? 'User-Agent'
  const cookieName = nameIn(headers, 'cookie') ?? 'Cookie'
  const userAgent = headers[agentName]
  if (userAgent !== undefined && !session.fits({ userAgent })) {
    throw new SessionMismatch(`The session of ${session.domain} was made with another user agent.`)
  }
  if (!session.fits({ proxyUrl: options.proxyUrl ?? null })) {
    throw new SessionMismatch(`The session of ${session.domain} was made with another proxy.`)
  }
  const cookies = new Map(parseCookies(headers[cookieName] ?? ''))
  for (const [name, value] of Object.entries(session.cookies)) cookies.set(name, value)
  return {
    ...headers,
    ...(session.userAgent === null ? {} : { [agentName]: session.userAgent }),
    ...(cookies.size === 0 ? {} : { [cookieName]: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
  }
}

type Headers = Readonly<Record<string, string>>

const nameIn = (headers: Headers, wanted: string): string | undefined =>
  Object.keys(headers).find((name) => name.toLowerCase() === wanted)

/** In whatever case it is written. */
export const userAgentOf = (headers: Headers): string | undefined => headers[nameIn(headers, 'user-agent') ?? '']

const parseCookies = (header: string): [string, string][] =>
  header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', ...value] = part.split('=')
      return [name, value.join('=')]
    })

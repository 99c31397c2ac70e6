import { ChallengesClient } from './challenges.ts'
import { ReeveError } from './error.ts'
import { JobsClient } from './jobs.ts'

export interface ClientOptions {
  /** Where the server is, for example http://127.0.0.1:8080. */
  url: string
  /** Of a login. */
  token?: string
  /** Of a program: sent as X-API-Key. */
  apiKey?: string
  /** Default: the platform's. */
  fetch?: typeof fetch
}

export interface RequestOptions {
  body?: unknown
  query?: Record<string, string | number | undefined>
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** A client of one server, as one account. */
export class ReeveClient {
  readonly jobs: JobsClient
  readonly challenges: ChallengesClient
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
    this.jobs = new JobsClient(this)
    this.challenges = new ChallengesClient(this)
  }

  /** Logs in, and returns a client that speaks for the account. */
  static async login(
    options: Omit<ClientOptions, 'token' | 'apiKey'> & { username: string; password: string },
  ): Promise<ReeveClient> {
    const { username, password, ...rest } = options
    const login = await new ReeveClient(rest).request<{ access_token: string }>('POST', '/auth/login', {
      body: { username, password },
    })
    return new ReeveClient({ ...rest, token: login.access_token })
  }

  /** Any request of the API. The answer is what the server's contract says; a refusal throws ReeveError. */
  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const url = new URL(path, this.#options.url)
    for (const [name, value] of Object.entries(options.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const send = this.#options.fetch ?? fetch
    const response = await send(url, {
      method,
      headers: { ...this.#credentials(), ...(options.body === undefined ? {} : JSON_BODY), ...options.headers },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
    const text = await response.text()
    const body = parsed(text)
    if (!response.ok) throw new ReeveError(response.status, body ?? text, response.headers.get('x-request-id'))
    return body
  }

  #credentials(): Record<string, string> {
    const { token, apiKey } = this.#options
    if (token !== undefined) return { authorization: `Bearer ${token}` }
    return apiKey === undefined ? {} : { 'x-api-key': apiKey }
  }
}

const JSON_BODY = { 'content-type': 'application/json' }

/** Undefined where there is no JSON: a proxy's error page, an empty answer. */
function parsed(text: string) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

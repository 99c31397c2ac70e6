import { ChallengesClient } from './challenges.ts'
import { ReeveError } from './error.ts'
import { JobsClient } from './jobs.ts'
import { PoolClient } from './pool-client.ts'

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
  /** In place of `body`: JSON that must be sent as it is. */
  text?: string
  query?: Record<string, string | number | undefined>
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** A client of one server, as one account. */
export class ReeveClient {
  readonly jobs: JobsClient
  readonly challenges: ChallengesClient
  readonly pool: PoolClient
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
    this.jobs = new JobsClient(this)
    this.challenges = new ChallengesClient(this)
    this.pool = new PoolClient(this)
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
    return parsed((await this.requestText(method, path, options)).text)
  }

  /** The same, with the answer as the text that it is: for JSON that must not pass through JavaScript's numbers. */
  async requestText(method: string, path: string, options: RequestOptions = {}): Promise<{ text: string; date: Date }> {
    const url = new URL(path, this.#options.url)
    for (const [name, value] of Object.entries(options.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const send = this.#options.fetch ?? fetch
    const body = options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
    const response = await send(url, {
      method,
      headers: { ...this.#credentials(), ...(body === undefined ? {} : JSON_BODY), ...options.headers },
      ...(body === undefined ? {} : { body }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
    const text = await response.text()
    if (!response.ok) throw new ReeveError(response.status, parsed(text) ?? text, response.headers.get('x-request-id'))
    return { text, date: new Date(response.headers.get('date') ?? Number.NaN) }
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

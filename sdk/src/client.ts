import { AccountClient } from './account.ts'
import { AdminClient } from './admin.ts'
import { ChallengesClient } from './challenges.ts'
import { DeskClient } from './desk/client.ts'
import { DeliveriesClient } from './deliveries.ts'
import { ReeveError } from './error.ts'
import { parseExact } from './exact-json.ts'
import { JobsClient } from './jobs.ts'
import { JudgeClient } from './judge.ts'
import { LiveClient, type LiveOptions } from './live.ts'
import { PoolAdminClient } from './pool/admin.ts'
import { PoolClient } from './pool/client.ts'

export interface ClientOptions {
  /** Where the server is, for example http://127.0.0.1:8080. */
  url: string
  /** Token of a login. */
  token?: string
  /** API key of a program, sent as X-API-Key. */
  apiKey?: string
  /** The session cookie of `account.signIn`, in a page of the server's own origin. Instead of a token or key. */
  cookie?: boolean
  /** How long an answer may take before the request fails with a TimeoutError. Default: as long as the platform waits. */
  timeoutMs?: number
  /** Numbers that JavaScript would round come as ExactNumber, which JSON.stringify writes as they were. */
  exactNumbers?: boolean
  /** Default: the global one. */
  fetch?: typeof fetch
}

export interface RequestOptions {
  body?: unknown
  /** Instead of `body`: JSON that must be sent as it is. */
  text?: string
  /** Instead of a JSON body. */
  bytes?: Uint8Array<ArrayBuffer>
  query?: Record<string, string | number | undefined>
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** A client of one server, as one account. */
export class ReeveClient {
  #reads = new AbortController()
  readonly account: AccountClient
  readonly admin: AdminClient
  readonly jobs: JobsClient
  readonly deliveries: DeliveriesClient
  readonly desk: DeskClient
  readonly challenges: ChallengesClient
  readonly pool: PoolClient
  readonly poolAdmin: PoolAdminClient
  readonly judge: JudgeClient
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
    this.account = new AccountClient(this)
    this.admin = new AdminClient(this)
    this.jobs = new JobsClient(this)
    this.deliveries = new DeliveriesClient(this)
    this.desk = new DeskClient(this)
    this.challenges = new ChallengesClient(this)
    this.pool = new PoolClient(this)
    this.poolAdmin = new PoolAdminClient(this)
    this.judge = new JudgeClient(this)
  }

  /** Logs in and returns a client for the account. */
  static async login(
    options: Omit<ClientOptions, 'token' | 'apiKey'> & { username: string; password: string },
  ): Promise<ReeveClient> {
    const { username, password, ...rest } = options
    const login = await new ReeveClient(rest).request<{ access_token: string }>('POST', '/auth/login', {
      body: { username, password },
    })
    return new ReeveClient({ ...rest, token: login.access_token })
  }

  /** Any request of the API. Resolves with the body of the response; a refusal throws ReeveError. */
  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const signal = method === 'GET' ? either(options.signal, this.#reads.signal) : options.signal
    const response = await this.open(method, path, signal === undefined ? options : { ...options, signal })
    return parsed(await response.text(), this.#options.exactNumbers)
  }

  /**
   * Gives up every GET in flight, each with a ReadsAbandoned: for whoever knows that the network was away, so that they wait for
   * answers that were lost. Whatever changes something goes on.
   */
  abandonReads(): void {
    this.#reads.abort(new ReadsAbandoned('The connection was lost'))
    this.#reads = new AbortController()
  }

  /** The same, with the body as text: for JSON whose numbers JavaScript would round. */
  async requestText(method: string, path: string, options: RequestOptions = {}): Promise<{ text: string; date: Date }> {
    const response = await this.open(method, path, options)
    return { text: await response.text(), date: new Date(response.headers.get('date') ?? Number.NaN) }
  }

  /** The same, for answers that are not JSON: a stream of events, a file. */
  async open(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const { bytes, query = {}, headers, signal } = options
    const url = new URL(path, this.#options.url)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const send = this.#options.fetch ?? fetch
    const json = options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
    const content = bytes ?? json
    const response = await send(url, {
      method,
      headers: { ...this.#credentials(), ...(json === undefined ? {} : JSON_BODY), ...headers },
      ...(content === undefined ? {} : { body: content }),
      ...(this.#options.cookie === true ? { credentials: 'same-origin' as const } : {}),
      ...this.#signal(signal),
    })
    if (response.ok) return response
    const text = await response.text()
    throw new ReeveError(response.status, parsed(text) ?? text, response.headers.get('x-request-id'))
  }

  /** One WebSocket for everything that is watched. It connects with the first follow. */
  live(options: Pick<LiveOptions, 'WebSocket'> = {}): LiveClient {
    const { url, token } = this.#options
    return new LiveClient({ url, ...(token === undefined ? {} : { token }), ...options })
  }

  #signal(given: AbortSignal | undefined): { signal?: AbortSignal } {
    const { timeoutMs } = this.#options
    if (timeoutMs === undefined) return given === undefined ? {} : { signal: given }
    return { signal: either(given, AbortSignal.timeout(timeoutMs)) }
  }

  #credentials(): Record<string, string> {
    const { token, apiKey } = this.#options
    if (token !== undefined) return { authorization: `Bearer ${token}` }
    return apiKey === undefined ? {} : { 'x-api-key': apiKey }
  }
}

const either = (given: AbortSignal | undefined, other: AbortSignal): AbortSignal =>
  given === undefined ? other : AbortSignal.any([given, other])

/** A GET that was given up by `abandonReads`: ask again. */
export class ReadsAbandoned extends Error {
  override readonly name = 'ReadsAbandoned'
}

const JSON_BODY = { 'content-type': 'application/json' }

/** Undefined where there is no JSON: a proxy's error page, an empty answer. */
function parsed(text: string, isExact = false) {
  try {
    if (!isExact) return JSON.parse(text)
    return parseExact(text)
  } catch {
    return undefined
  }
}

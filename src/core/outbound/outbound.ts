// The one guard for requests to an address that somebody outside gave (a callback, a proxied page). The name is resolved
// once, every address that came of it is checked, and the connection goes to a checked address: a name that means
// something else a moment later changes nothing. Redirects are answers like any other; nobody follows them.
import { lookup as systemLookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { isIP, type Socket } from 'node:net'
import tls, { type SecureContext } from 'node:tls'
import { codeOf } from '../values/error-code.ts'
import { refused, type Refused } from '../values/outcome.ts'
import { StartError } from '../start-error.ts'
import { VERSION } from '../version.ts'
import { isReachable, parseRanges } from './address.ts'

const URL_CHARS_MAX = 2048
const USER_AGENT = `Reeve/${VERSION}`
const ANSWER_BYTES_MAX = 64 * 1024
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

export interface Address {
  address: string
  family: number
}

export type Resolve = (hostname: string) => Promise<readonly Address[]>

/** Connects to a checked address some other way than directly: through a proxy that the owner chose. */
export type Dial = (to: Address & { port: number }, signal: AbortSignal) => Promise<Socket>

export interface OutboundRequest {
  url: string
  method: string
  headers: Readonly<Record<string, string>>
  body: string | Buffer
  /** For everything: the name, the connection, the answer. */
  timeoutMs: number
  /** Of the answer's body. Default 64 KB. */
  bytesMax?: number
  /** A longer body is cut there and the connection closed; otherwise the answer is refused. */
  cutsBody?: boolean
  dial?: Dial
  /** The owner of this deployment chose the address: private ones are meant. */
  isTrusted?: boolean
  signal?: AbortSignal
}

/** In order of precedence. */
export type OutboundRefusal =
  | 'invalid_url'
  | 'credentials_in_url'
  | 'ambiguous_address'
  | 'unresolvable'
  | 'forbidden_address'
  | 'timed_out'
  | 'tls_error'
  | 'network_error'
  | 'answer_too_large'

/** `cause`: the system's or OpenSSL's code, such as ECONNREFUSED or CERT_HAS_EXPIRED. */
export type OutboundFailure = Refused<OutboundRefusal> & { cause?: string }

export interface OutboundAnswer {
  ok: true
  status: number
  headers: http.IncomingHttpHeaders
  body: Buffer
}

export type Checked = { ok: true; url: URL; to: Address & { port: number } } | OutboundFailure

export interface Outbound {
  /** Where a connection may go, for a client that dials by itself. The name is not to be resolved again. */
  check(url: string, options: { signal: AbortSignal; isTrusted?: boolean | undefined }): Promise<Checked>
  request(request: OutboundRequest): Promise<OutboundAnswer | OutboundFailure>
}

const resolveBySystem: Resolve = (hostname) => systemLookup(hostname, { all: true, verbatim: true })

export interface OutboundOptions {
  allowCidrs: readonly string[]
  /** A PEM file of further authorities that servers' certificates may be signed by. Empty: none. */
  caFile?: string
  resolve?: Resolve
}

export function openOutbound(options: OutboundOptions): Outbound {
  const parsed = parseRanges(options.allowCidrs)
  if ('wrong' in parsed) throw new StartError(`OUTBOUND_ALLOW_CIDRS: "${parsed.wrong}" is not a range like 10.0.0.0/8.`)
  const { resolve = resolveBySystem, caFile = '' } = options
  const secureContext = caFile === '' ? undefined : trusting(caFile)

  const check: Outbound['check'] = async (text, { signal, isTrusted = false }) => {
    const url = checkedUrl(text)
    if (!(url instanceof URL)) return url
    const addresses = await resolved(url, resolve, signal)
    if (signal.aborted) return refused('timed_out')
    const [first] = addresses
    if (first === undefined) return refused('unresolvable')
    const isAllowed = addresses.every(({ address }) => isReachable(address, parsed.ranges))
    if (!isAllowed && !isTrusted) return refused('forbidden_address')
    return { ok: true, url, to: { ...first, port: Number(url.port) || (DEFAULT_PORTS[url.protocol] ?? 0) } }
  }

  return {
    check,
    async request(request) {
      return within(request, async (signal) => {
        const checked = await check(request.url, { signal, isTrusted: request.isTrusted })
        if (!checked.ok) return checked
        const { url, to } = checked
        const sending = { url, to, request, signal, secureContext }
        if (request.dial === undefined) return send(sending)
        const socket = await request.dial(to, signal).catch(() => null)
        if (socket === null) return refused(signal.aborted ? 'timed_out' : 'network_error')
        return send({ ...sending, dialled: socket })
      })
    },
  }
}

/** Ends the work when the time is up or the caller gives up. Node's `AbortSignal.any` costs more than the signature of the request. */
async function within<T>(
  { timeoutMs, signal: given }: Pick<OutboundRequest, 'timeoutMs' | 'signal'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const abort = () => over.abort()
  const timer = setTimeout(abort, timeoutMs)
  given?.addEventListener('abort', abort)
  if (given?.aborted === true) abort()
  try {
    return await work(over.signal)
  } finally {
    clearTimeout(timer)
    given?.removeEventListener('abort', abort)
  }
}

/** What the URL says, before any name is resolved. */
export function checkedUrl(text: string): URL | Refused<OutboundRefusal> {
  if (text.length > URL_CHARS_MAX || !URL.canParse(text)) return refused('invalid_url')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused('invalid_url')
  if (url.username !== '' || url.password !== '') return refused('credentials_in_url')
  // 2130706433, 0x7f.1 and 0177.0.0.1 are 127.0.0.1 to a URL parser and something else to a reader.
  const written = /^[a-z]+:\/\/([^/?#:]*)/i.exec(text)?.[1]
  if (isIP(url.hostname) === 4 && written !== url.hostname) return refused('ambiguous_address')
  return url
}

async function resolved(url: URL, resolve: Resolve, signal: AbortSignal): Promise<readonly Address[]> {
  const hostname = hostOf(url)
  const family = isIP(hostname)
  if (family !== 0) return [{ address: hostname, family }]
  const aborted = new Promise<never[]>((done) => signal.addEventListener('abort', () => done([]), { once: true }))
  return Promise.race([resolve(hostname).catch(() => []), aborted])
}

interface Exchange {
  url: URL
  to: Address
  request: OutboundRequest
  signal: AbortSignal
  secureContext: SecureContext | undefined
  dialled?: Socket
}

function send({
  url,
  to,
  request,
  signal,
  secureContext,
  dialled,
}: Exchange): Promise<OutboundAnswer | OutboundFailure> {
  const { method, body, bytesMax = ANSWER_BYTES_MAX, cutsBody = false } = request
  const bytes = Buffer.byteLength(body)
  const hasNoBody = bytes === 0 && (method === 'GET' || method === 'HEAD')
  const given = withUserAgent(request.headers)
  const options: https.RequestOptions = {
    method,
    headers: hasNoBody ? given : { ...given, 'content-length': String(bytes) },
    // The only answer there is, whatever the name means by now.
    lookup: (_hostname, { all }, done) => (all === true ? done(null, [{ ...to }]) : done(null, to.address, to.family)),
    // No agent: a kept connection was checked for another request.
    ...(dialled === undefined ? { agent: false } : { createConnection: () => speaking(url, dialled, secureContext) }),
    ...(secureContext === undefined ? {} : { secureContext }),
    signal,
  }
  return new Promise((resolve) => {
    const fail = (error?: unknown) => resolve(signal.aborted ? refused('timed_out') : failureOf(error))
    const sent = (url.protocol === 'https:' ? https : http).request(url, options, (answer) => {
      const chunks: Buffer[] = []
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes <= bytesMax) return
        if (cutsBody) done()
        else resolve(refused('answer_too_large'))
        sent.destroy()
      })
      const done = () => {
        const whole = Buffer.concat(chunks).subarray(0, bytesMax)
        resolve({ ok: true, status: answer.statusCode ?? 0, headers: answer.headers, body: whole })
      }
      answer.on('end', done)
      answer.on('error', fail)
      answer.on('close', () => fail()) // after `end` this changes nothing
    })
    sent.on('error', fail)
    sent.end(body)
  })
}

function speaking(url: URL, socket: Socket, secureContext: SecureContext | undefined): Socket {
  if (url.protocol !== 'https:') return socket
  const name = hostOf(url)
  const trusted = secureContext === undefined ? {} : { secureContext }
  return tls.connect({ socket, ...trusted, ...(isIP(name) === 0 ? { servername: name } : { host: name }) })
}

/** The authorities that Node trusts, and those of the file. */
function trusting(caFile: string): SecureContext {
  try {
    return tls.createSecureContext({ ca: [...tls.rootCertificates, readFileSync(caFile, 'utf8')] })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartError(`OUTBOUND_CA_FILE: cannot use ${caFile} as PEM certificates: ${why}`)
  }
}

const withUserAgent = (headers: OutboundRequest['headers']): Record<string, string> =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'user-agent')
    ? { ...headers }
    : { 'user-agent': USER_AGENT, ...headers }

const TLS_CODES =
  /^(CERT_|ERR_TLS_|ERR_SSL_|EPROTO$|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH$|INVALID_CA$)/

function failureOf(error: unknown): OutboundFailure {
  const cause = codeOf(error)
  if (cause === null) return refused('network_error')
  return { ...refused(TLS_CODES.test(cause) ? 'tls_error' : 'network_error'), cause }
}

/** Of an IPv6 address, without its brackets. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1')

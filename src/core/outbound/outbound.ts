// The one guard for requests to an address that somebody outside gave (a callback, a proxied page). The name is resolved
// once, every address that came of it is checked, and the connection goes to a checked address: a name that means
// something else a moment later changes nothing. Redirects are answers like any other; nobody follows them.
import { lookup as systemLookup } from 'node:dns/promises'
import http from 'node:http'
import https from 'node:https'
import { isIP, type Socket } from 'node:net'
import tls from 'node:tls'
import { refused, type Refused } from '../outcome.ts'
import { StartError } from '../start-error.ts'
import { isReachable, parseRanges } from './address.ts'

const URL_CHARS_MAX = 2048
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
  | 'network_error'
  | 'answer_too_large'

export interface OutboundAnswer {
  ok: true
  status: number
  headers: http.IncomingHttpHeaders
  body: Buffer
}

export type Checked = { ok: true; url: URL; to: Address & { port: number } } | Refused<OutboundRefusal>

export interface Outbound {
  /** Where a connection may go, for a client that dials by itself. The name is not to be resolved again. */
  check(url: string, options: { signal: AbortSignal; isTrusted?: boolean | undefined }): Promise<Checked>
  request(request: OutboundRequest): Promise<OutboundAnswer | Refused<OutboundRefusal>>
}

const resolveBySystem: Resolve = (hostname) => systemLookup(hostname, { all: true, verbatim: true })

export function openOutbound(options: { allowCidrs: readonly string[]; resolve?: Resolve }): Outbound {
  const parsed = parseRanges(options.allowCidrs)
  if ('wrong' in parsed) throw new StartError(`OUTBOUND_ALLOW_CIDRS: "${parsed.wrong}" is not a range like 10.0.0.0/8.`)
  const { resolve = resolveBySystem } = options

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
      const deadline = AbortSignal.timeout(request.timeoutMs)
      const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal])
      const checked = await check(request.url, { signal, isTrusted: request.isTrusted })
      if (!checked.ok) return checked
      const { url, to } = checked
      if (request.dial === undefined) return send(url, to, request, signal)
      const socket = await request.dial(to, signal).catch(() => null)
      if (socket === null) return refused(signal.aborted ? 'timed_out' : 'network_error')
      return send(url, to, request, signal, socket)
    },
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

function send(
  url: URL,
  to: Address,
  request: OutboundRequest,
  signal: AbortSignal,
  dialled?: Socket,
): Promise<OutboundAnswer | Refused<OutboundRefusal>> {
  const { method, body, bytesMax = ANSWER_BYTES_MAX } = request
  const bytes = Buffer.byteLength(body)
  const hasNoBody = bytes === 0 && (method === 'GET' || method === 'HEAD')
  const options: https.RequestOptions = {
    method,
    headers: hasNoBody ? request.headers : { ...request.headers, 'content-length': String(bytes) },
    // The only answer there is, whatever the name means by now.
    lookup: (_hostname, { all }, done) => (all === true ? done(null, [{ ...to }]) : done(null, to.address, to.family)),
    // No agent: a kept connection was checked for another request.
    ...(dialled === undefined ? { agent: false } : { createConnection: () => speaking(url, dialled) }),
    signal,
  }
  return new Promise((resolve) => {
    const fail = () => resolve(refused(signal.aborted ? 'timed_out' : 'network_error'))
    const sent = (url.protocol === 'https:' ? https : http).request(url, options, (answer) => {
      const chunks: Buffer[] = []
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes <= bytesMax) return
        resolve(refused('answer_too_large'))
        sent.destroy()
      })
      answer.on('end', () => {
        resolve({ ok: true, status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) })
      })
      answer.on('error', fail)
      answer.on('close', fail) // after `end` this changes nothing
    })
    sent.on('error', fail)
    sent.end(body)
  })
}

function speaking(url: URL, socket: Socket): Socket {
  if (url.protocol !== 'https:') return socket
  const name = hostOf(url)
  return tls.connect({ socket, ...(isIP(name) === 0 ? { servername: name } : { host: name }) })
}

/** Of an IPv6 address, without its brackets. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1')

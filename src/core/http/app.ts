// The Fastify instance before any route: limits, parsers, ids, logs and security headers. Malformed input of any kind is
// answered with a 4xx here.
import type { Socket } from 'node:net'
import fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { BODY_BYTES_MAX, parseJson, parsePassedOnJson } from './request/body.ts'
import { handleError } from './errors/handle-error.ts'
import { HttpError } from './errors/http-error.ts'
import { openOrigins } from './auth/origins.ts'
import { checkHost } from './host.ts'
import { requestIdOf, traceIdOf } from './request/request.ts'
import { openSecurityHeaders } from './security-headers.ts'
import { compileSchema } from './request/validate.ts'
import type { ErrorFormat } from './errors/error-format.ts'

const HEADER_BYTES_MAX = 16 * 1024
const HEADERS_TIMEOUT_MS = 10_000
const BODY_TIMEOUT_MS = 30_000
// The longest body time of any route; limitBodyTime enforces each route's own.
const REQUEST_TIMEOUT_MS = 15 * 60_000
const TIMEOUT_CHECK_MS = 1000
const PARAM_CHARS_MAX = 512
// A pipelining client cannot keep one connection busy for ever, and one that does not read its answers is cut.
const REQUESTS_PER_CONNECTION_MAX = 10_000
const IDLE_CONNECTION_MS = 120_000
// Fastify gives up a plugin after 10 seconds, which on a machine that is busy with something else was a refused start.
const PLUGIN_TIMEOUT_MS = 60_000

export interface AppOptions {
  config: Config
  log: Logger
  formatOf: (url: string) => ErrorFormat
}

export async function openApp({ config, log, formatOf }: AppOptions): Promise<FastifyInstance> {
  const logger: FastifyBaseLogger = log
  const onError = handleError((request) => formatOf(request.url))
  const app = fastify({
    loggerInstance: logger,
    // One line per request, written when it is answered (lifecycle.ts).
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    childLoggerFactory: (parent, bindings, options, raw) =>
      parent.child({ ...bindings, trace_id: traceIdOf(raw) }, options),
    genReqId: requestIdOf,
    // One proxy: it appends the last address in X-Forwarded-For; the client may have sent the others.
    trustProxy: config.TRUST_PROXY ? (_address, hop) => hop === 0 : false,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    maxRequestsPerSocket: REQUESTS_PER_CONNECTION_MAX,
    connectionTimeout: IDLE_CONNECTION_MS,
    pluginTimeout: PLUGIN_TIMEOUT_MS,
    http: {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    return503OnClosing: false, // requests in flight are answered, with `Connection: close`
    frameworkErrors: (error, request, reply) => {
      setIds(request, reply)
      void onError(error, request, reply)
    },
    clientErrorHandler: (error, socket) => refuseBadHttp(error, socket),
  })

  app.setErrorHandler(onError)
  app.setValidatorCompiler(compileSchema)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      request.rawBody = bytes
      return request.routeOptions.config.passesJsonOn === true ? parsePassedOnJson(bytes) : parseJson(bytes)
    },
  )

  app.decorateRequest('account', null)
  app.decorateRequest('credential', null)
  app.decorateRequest('rawBody', null)
  app.decorateRequest('socketRoles', null)
  app.decorateRequest('traceId', { getter: traceOfRequest })

  app.decorate('origins', openOrigins(config))

  app.addHook('onRequest', async (request, reply) => setIds(request, reply))
  app.addHook('onRequest', limitBodyTime)
  app.addHook('preValidation', refuseNulInUrl)
  await openSecurityHeaders(app, config)
  checkHost(app, config)
  if (!config.TRUST_PROXY) warnOfProxy(app)
  return app
}

/** Without TRUST_PROXY every client behind a proxy has the proxy's address, and so shares its rate limits. */
function warnOfProxy(app: FastifyInstance): void {
  let isWarned = false
  app.addHook('onRequest', async (request) => {
    if (isWarned || request.headers['x-forwarded-for'] === undefined) return
    isWarned = true
    app.log.warn('X-Forwarded-For arrives while TRUST_PROXY is false: all users behind the proxy share one rate limit')
  })
}

function traceOfRequest(this: FastifyRequest): string {
  return traceIdOf(this.raw)
}

function setIds(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
}

/** Limits the time in which a body arrives, also where no handler reads it. Waiting for an answer is not counted. */
async function limitBodyTime(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { raw, headers } = request
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0
  if (!hasBody) return
  const ms = request.routeOptions.config.bodyTimeoutMs ?? BODY_TIMEOUT_MS
  const timer = setTimeout(() => {
    if (raw.complete) return
    // The reader of the body gets a stream error, and the door's error handler formats the answer.
    const timeout = new HttpError(408, 'request_timeout', `The body did not arrive within ${ms / 1000} seconds.`)
    if (!reply.sent && raw.listenerCount('error') > 0) raw.emit('error', timeout)
    else raw.destroy()
  }, ms)
  timer.unref()
  raw.once('close', () => clearTimeout(timer))
}

/** The only character that a URL can contain and PostgreSQL cannot store. */
async function refuseNulInUrl(request: FastifyRequest): Promise<void> {
  if (request.url.includes('%00')) throw new HttpError(400, 'bad_request', 'The URL holds a NUL character.')
}

const BAD_HTTP: Readonly<Record<string, readonly [status: string, detail: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
}

/** For input that is not an HTTP request: there is no door to format the answer. */
function refuseBadHttp(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, detail] = BAD_HTTP[error.code ?? ''] ?? ['400 Bad Request', 'This is not HTTP.']
  const body = JSON.stringify({ detail })
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close`
  socket.end(`${head}\r\n\r\n${body}`, () => socket.destroySoon())
}

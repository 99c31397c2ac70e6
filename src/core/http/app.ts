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
import { BODY_BYTES_MAX, parseBody } from './request/body.ts'
import { handleError } from './errors/handle-error.ts'
import { HttpError } from './errors/http-error.ts'
import { openOrigins } from './auth/origins.ts'
import { checkHost } from './host.ts'
import { requestIdOf, traceOf } from './request/request.ts'
import { RequestLog } from './request/request-log.ts'
import { serverWithin, type ConnectionLimits } from './pipelining.ts'
import { compileAnswer } from './serialize.ts'
import { openSecurityHeaders } from './security-headers.ts'
import { compileSchema } from './request/validate.ts'
import type { ErrorFormat } from './errors/error-format.ts'
import type { RequestTrace } from '../traces/context.ts'

const BODY_TIMEOUT_MS = 30_000
const PARAM_CHARS_MAX = 512
const CONNECTION_LIMITS: ConnectionLimits = {
  headerBytesMax: 16 * 1024,
  headersTimeoutMs: 10_000,
  // The longest body time of any route; limitBodyTime enforces each route's own.
  requestTimeoutMs: 15 * 60_000,
  checkTimeoutsMs: 1000,
  requestsMax: 10_000,
  // Also for a client that does not read its answer.
  idleMs: 120_000,
}
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
    childLoggerFactory: (_parent, bindings, _options, raw) =>
      new RequestLog(log, () => ({ ...bindings, trace_id: traceOf(raw).traceId })),
    genReqId: requestIdOf,
    // One proxy: it appends the last address in X-Forwarded-For; the client may have sent the others.
    trustProxy: config.TRUST_PROXY ? (_address, hop) => hop === 0 : false,
    bodyLimit: BODY_BYTES_MAX,
    pluginTimeout: PLUGIN_TIMEOUT_MS,
    serverFactory: serverWithin(CONNECTION_LIMITS),
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
  app.setSerializerCompiler(compileAnswer)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      request.rawBody = bytes
      return parseBody(bytes, { passesOn: request.routeOptions.config.passesJsonOn === true })
    },
  )

  app.decorateRequest('account', null)
  app.decorateRequest('credential', null)
  app.decorateRequest('rawBody', null)
  app.decorateRequest('socketRoles', null)
  app.decorateRequest('trace', { getter: traceOfRequest })

  app.decorate('origins', openOrigins(config))

  // Hooks that wait for nothing call `done`: a promise for each of a dozen hooks would be a tenth of a small request.
  app.addHook('onRequest', (request, reply, done) => {
    setIds(request, reply)
    done()
  })
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
  app.addHook('onRequest', (request, _reply, done) => {
    if (!isWarned && request.headers['x-forwarded-for'] !== undefined) {
      isWarned = true
      app.log.warn(
        'X-Forwarded-For arrives while TRUST_PROXY is false: all users behind the proxy share one rate limit',
      )
    }
    done()
  })
}

function traceOfRequest(this: FastifyRequest): RequestTrace {
  return traceOf(this.raw)
}

function setIds(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
}

/** Limits the time in which a body arrives, also where no handler reads it. Waiting for an answer is not counted. */
function limitBodyTime(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  const { raw, headers } = request
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0
  if (!hasBody) return done()
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
  done()
}

/** The only character that a URL can contain and PostgreSQL cannot store. */
function refuseNulInUrl(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  if (request.url.includes('%00')) throw new HttpError(400, 'bad_request', 'The URL holds a NUL character.')
  done()
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

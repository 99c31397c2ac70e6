// Turns whatever was thrown into an answer. Errors that are not the client's fault are logged here, once, and the client
// gets no details of them.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Overloaded } from '../../values/outcome.ts'
import { isConflict, sqlState } from '../../db/database.ts'
import { isOutage } from '../../outage.ts'
import { Unstorable } from '../../db/params.ts'
import { HttpError, retryAfter, type ErrorReport } from './http-error.ts'
import type { ErrorFormat } from './error-format.ts'

const RETRY_AFTER_SEC = 1

/** Fastify's own errors. */
const FRAMEWORK: Readonly<Record<string, readonly [status: number, code: string, message: string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'too_large', 'The body is too large.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'unsupported_media_type', 'The Content-Type is not one that this path takes.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'bad_request', 'The body is not as long as Content-Length says.'],
  FST_ERR_BAD_URL: [400, 'bad_request', 'The path is not a valid URL.'],
  FST_ERR_MAX_PARAM_LENGTH: [414, 'bad_request', 'A part of the path is too long.'],
}

// PostgreSQL refused a value that a schema accepted. The schema should be stricter, but the input is still invalid.
const BAD_VALUES = /^(22021|22P05|22003)$/

/** The error handler for one error format. */
export const handleError =
  (formatOf: (request: FastifyRequest) => ErrorFormat) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const thrown = httpErrorFrom(error)
    if (thrown.status >= 500) request.log.error({ err: error }, 'request failed')
    const format = formatOf(request)
    const status = thrown.code === 'validation_failed' ? format.validationStatus : thrown.status
    const { fields } = thrown
    const report: ErrorReport = {
      status,
      code: thrown.code,
      message: thrown.message,
      requestId: request.id,
      acceptLanguage: request.headers['accept-language'] ?? '',
      ...(fields === null ? {} : { fields }),
    }
    // The unread rest of the body would precede the next request on this connection; a refused upgrade ends it too.
    if (status === 413 || status === 408 || request.ws) reply.header('connection', 'close')
    // Bypasses the route's response schema, which describes the answers of its handler.
    return reply
      .code(status)
      .headers(thrown.headers)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(format.errorBody(report)))
  }

export function httpErrorFrom(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  // A conflict: the request has changed nothing. It lost a deadlock, or waited too long for a lock, as while a migration is applied.
  if (error instanceof Overloaded || isConflict(error)) {
    return new HttpError(503, 'unavailable', 'The server is busy. Try again.', {
      headers: retryAfter(RETRY_AFTER_SEC),
    })
  }
  const code = codeOf(error)
  const framework = FRAMEWORK[code]
  if (framework !== undefined) return new HttpError(...framework)
  const status = statusOf(error)
  if (status !== null) return new HttpError(status, 'bad_request', 'The request is not valid.')
  if (BAD_VALUES.test(sqlState(error) ?? '') || error instanceof Unstorable)
    return new HttpError(400, 'bad_request', 'A value cannot be stored.')
  if (isOutage(error)) {
    const headers = retryAfter(RETRY_AFTER_SEC)
    return new HttpError(503, 'unavailable', 'The server is not available for the moment.', { headers })
  }
  return new HttpError(500, 'internal_error', 'Internal server error')
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** The 4xx status that a plugin attached to its error. */
const statusOf = (error: unknown): number | null =>
  error instanceof Error &&
  'statusCode' in error &&
  typeof error.statusCode === 'number' &&
  error.statusCode >= 400 &&
  error.statusCode < 500
    ? error.statusCode
    : null

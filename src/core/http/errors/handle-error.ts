// The one place where what was thrown becomes an answer. Whatever is not the request's fault is logged here, once, and
// the client is told nothing of it but that it happened.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Overloaded } from '../../outcome.ts'
import { isLostConnection, sqlState } from '../../db/database.ts'
import { Unstorable } from '../../db/params.ts'
import { HttpError, retryAfter, type ErrorReport } from './http-error.ts'
import type { ErrorFormat } from './error-format.ts'

const RETRY_AFTER_SEC = 1

/** Fastify's own refusals. */
const FRAMEWORK: Readonly<Record<string, readonly [status: number, code: string, message: string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'too_large', 'The body is too large.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'unsupported_media_type', 'The Content-Type is not one that this path takes.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'bad_request', 'The body is not as long as Content-Length says.'],
  FST_ERR_BAD_URL: [400, 'bad_request', 'The path is not a valid URL.'],
  FST_ERR_MAX_PARAM_LENGTH: [414, 'bad_request', 'A part of the path is too long.'],
}

// PostgreSQL could not take a value that a schema let pass. That is a hole in a schema, but it is the input that is bad.
const BAD_VALUES = /^(22021|22P05|22003)$/

/** Formats what was thrown, for one door. */
export const handleError =
  (formatOf: (request: FastifyRequest) => ErrorFormat) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const thrown = httpErrorFrom(error)
    if (thrown.status >= 500) request.log.error({ err: error }, 'request failed')
    const words = formatOf(request)
    const status = thrown.code === 'validation_failed' ? words.validationStatus : thrown.status
    const { fields } = thrown
    const problem: ErrorReport = {
      status,
      code: thrown.code,
      message: thrown.message,
      requestId: request.id,
      acceptLanguage: request.headers['accept-language'] ?? '',
      ...(fields === null ? {} : { fields }),
    }
    // The rest of a body that nobody reads would stand in the way of the next request.
    if (status === 413 || status === 408) reply.header('connection', 'close')
    // Not through the route's response schema: that one describes the answers of its handler.
    return reply
      .code(status)
      .headers(thrown.headers)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(words.errorBody(problem)))
  }

export function httpErrorFrom(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  if (error instanceof Overloaded) {
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
  if (isLostConnection(error)) {
    const headers = retryAfter(RETRY_AFTER_SEC)
    return new HttpError(503, 'unavailable', 'The server is not available for the moment.', { headers })
  }
  return new HttpError(500, 'internal_error', 'Internal server error')
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** A plugin's way to say that it is the request's fault. */
const statusOf = (error: unknown): number | null =>
  error instanceof Error &&
  'statusCode' in error &&
  typeof error.statusCode === 'number' &&
  error.statusCode >= 400 &&
  error.statusCode < 500
    ? error.statusCode
    : null

// Errors as `{"detail": …}`: a sentence, or a code that programs know (domain_not_authorised).
import { HttpError, retryAfter, type FieldError } from '../../core/http/errors/http-error.ts'

export const taskNotFound = () => new HttpError(404, 'not_found', 'Task not found')

export const domainNotAuthorised = () => new HttpError(403, 'domain_not_authorised', 'domain_not_authorised')

export const forbidden = (message: string) => new HttpError(403, 'forbidden', message)

export const conflict = (message: string) => new HttpError(409, 'conflict', message)

export const tooMany = (seconds: number) =>
  new HttpError(429, 'rate_limited', 'Too many requests', { headers: retryAfter(seconds) })

/** A query parameter that is wrong. */
export const invalidQuery = (name: string, message: string): HttpError => invalidAt(['query', name], message)

/** A field that satisfies its schema and is wrong all the same. */
export const invalid = (field: string | readonly string[], message: string): HttpError =>
  invalidAt(['body', ...[field].flat()], message)

function invalidAt(path: readonly string[], message: string): HttpError {
  const fields: FieldError[] = [{ path, message, rule: 'value_error' }]
  return new HttpError(422, 'validation_failed', `${path.join('.')} ${message}.`, { fields })
}

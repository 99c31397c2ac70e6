/** An error as a door's `errorBody` gets it. */
export interface ErrorReport {
  status: number
  /** Stable and machine-readable: a CoreCode, or a code of the door. */
  code: string
  /** One sentence that says what to do. Never a secret, never a stack. */
  message: string
  /** The invalid fields, for a validation error. */
  fields?: readonly FieldError[]
  requestId: string
  /** The request's Accept-Language, for doors with messages in several languages. */
  acceptLanguage: string
}

export interface FieldError {
  /** For example ['body', 'name']. */
  path: readonly string[]
  message: string
  /** The violated rule: required, type, minLength … */
  rule: string
}

/** Errors that the server itself raises, at any door. */
export type CoreCode =
  | 'bad_request'
  | 'invalid_json'
  | 'validation_failed'
  | 'unauthorized'
  | 'invalid_credentials'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'misdirected_request'
  | 'registration_closed'
  | 'conflict'
  | 'too_large'
  | 'unsupported_media_type'
  | 'upgrade_required'
  | 'rate_limited'
  | 'internal_error'
  | 'unavailable'

export interface HttpErrorOptions {
  fields?: readonly FieldError[]
  /** Headers of the answer: WWW-Authenticate, Retry-After, Allow. */
  headers?: Readonly<Record<string, string>>
}

/** Thrown by hooks and routes; the error handler formats it. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly status: number
  readonly code: string
  readonly fields: readonly FieldError[] | null
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: string, message: string, options: HttpErrorOptions = {}) {
    super(message)
    this.status = status
    this.code = code
    this.fields = options.fields ?? null
    this.headers = options.headers ?? {}
  }
}

export const retryAfter = (seconds: number): Readonly<Record<string, string>> => ({ 'retry-after': String(seconds) })

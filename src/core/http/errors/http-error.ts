/** Something that a request did wrong, or that went wrong here, before a door has put it into its own words. */
export interface ErrorReport {
  status: number
  /** Stable and machine-readable: one of CoreCode, or a code of the door's own. */
  code: string
  /** One sentence that says what to do. Never a secret, never a stack. */
  message: string
  /** For validation: which fields, and what is wrong with each. */
  fields?: readonly FieldError[]
  requestId: string
  /** The request's Accept-Language, for doors that speak more than one. */
  acceptLanguage: string
}

export interface FieldError {
  /** Where: ['body', 'name']. */
  path: readonly string[]
  message: string
  /** The rule that it broke: required, type, minLength … */
  rule: string
}

/** What the server itself finds wrong, at any door. */
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
  | 'conflict'
  | 'too_large'
  | 'unsupported_media_type'
  | 'upgrade_required'
  | 'rate_limited'
  | 'internal_error'
  | 'unavailable'

export interface HttpErrorOptions {
  fields?: readonly FieldError[]
  /** Sent with the answer: WWW-Authenticate, Retry-After, Allow. */
  headers?: Readonly<Record<string, string>>
}

/** Thrown by hooks and routes; the door's error handler words it. */
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

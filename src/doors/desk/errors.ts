// {"detail": …}: a sentence, a code that programs know (domain_not_authorised), or for a lock who has it and until when.
import { Type } from 'typebox'
import { HttpError, retryAfter, type FieldError } from '../../core/http/errors/http-error.ts'

export const taskNotFound = () => new HttpError(404, 'not_found', 'Task not found')

export const domainNotAuthorised = () => new HttpError(403, 'domain_not_authorised', 'domain_not_authorised')

export const forbidden = (message: string) => new HttpError(403, 'forbidden', message)

export const conflict = (message: string) => new HttpError(409, 'conflict', message)

export const tooMany = (seconds: number) =>
  new HttpError(429, 'rate_limited', 'Too many requests', { headers: retryAfter(seconds) })

/** A field that its schema let pass and that is wrong all the same. */
export function invalid(field: string | readonly string[], message: string): HttpError {
  const path = ['body', ...[field].flat()]
  const fields: FieldError[] = [{ path, message, rule: 'value_error' }]
  return new HttpError(422, 'validation_failed', `${path.join('.')} ${message}.`, { fields })
}

/** 409 of a lock. */
export const Locked = Type.Object({
  detail: Type.Union([
    Type.Object({
      message: Type.String(),
      assigned_to: Type.Union([Type.String(), Type.Null()]),
      locked_until: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    }),
    Type.String(),
  ]),
})

export interface Lock {
  message: string
  holder: string | null
  until: Date | null
}

export const lockedBody = ({ message, holder, until }: Lock) => ({
  detail: { message, assigned_to: holder, locked_until: until?.toISOString() ?? null },
})

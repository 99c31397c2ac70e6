// What an operator submits, and how long it is valid.
//
//   cookie   a list of cookies      → cached as the session of the domain
//   session  an object              → cached as the session of the domain
//   token    a text, single use     → on the task only
//   answer   what the form asked    → on the task only
import { Type, type Static } from 'typebox'
import type { HttpError } from '../../../core/http/errors/http-error.ts'
import { invalid } from '../errors.ts'
import { checkAnswer } from '../tasks/form.ts'
import type { DeskSettings } from '../settings.ts'
import type { TaskRow } from '../tasks/task.ts'

const COOKIES_MAX = 200
const TOKEN_CHARS_MAX = 65_536
const SESSION_CHARS_MAX = 262_144
const COOKIE_NAME = String.raw`^[!#$%&'*+\-.^_\x60|~0-9A-Za-z]+$`
const PRINTABLE = String.raw`^[\x20-\x7e]*$`

export const UserAgent = Type.String({ maxLength: 1024, pattern: PRINTABLE })

export const CookieItem = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 256, pattern: COOKIE_NAME }),
  value: Type.String({ maxLength: 8192, pattern: String.raw`^[\x20-\x3a\x3c-\x7e]*$` }),
  domain: Type.Optional(Type.String({ maxLength: 260 })),
  path: Type.Optional(Type.String({ maxLength: 1024 })),
  expires: Type.Optional(
    Type.Union([Type.Number(), Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'Unix seconds, or ISO-8601. Negative, zero or null: when the browser closes.',
    }),
  ),
  secure: Type.Optional(Type.Boolean()),
  httpOnly: Type.Optional(Type.Boolean()),
  sameSite: Type.Optional(Type.Union([Type.String({ maxLength: 20 }), Type.Null()])),
})
export type Cookie = Static<typeof CookieItem>

export const SolutionBody = Type.Object({
  type: Type.Enum(['cookie', 'token', 'session', 'answer']),
  payload: Type.Union([
    Type.Array(CookieItem, { maxItems: COOKIES_MAX }),
    Type.Record(Type.String(), Type.Unknown()),
    Type.String({ maxLength: TOKEN_CHARS_MAX }),
  ]),
  user_agent: Type.Optional(Type.Union([UserAgent, Type.Null()])),
  expires_at: Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()])),
  notes: Type.Optional(Type.Union([Type.String({ maxLength: 4000 }), Type.Null()])),
})

export type SolutionType = Static<typeof SolutionBody>['type']

/** As it is sealed. */
export interface Solution {
  type: SolutionType
  payload: unknown
  user_agent: string | null
  notes: string | null
}

export interface ParsedSolution {
  solution: Solution
  expiresAt: Date | null
  session: { cookies: Readonly<Record<string, string>>; data: unknown; ttlSec: number } | null
}

export function parseSolution(
  body: Static<typeof SolutionBody>,
  task: TaskRow,
  settings: DeskSettings,
): ParsedSolution | HttpError {
  const { type, notes = null, user_agent: userAgent = null } = body
  const expiresAt = body.expires_at === undefined || body.expires_at === null ? null : new Date(body.expires_at)
  if (expiresAt !== null && !(expiresAt > task.now)) return invalid('expires_at', 'must not be in the past')
  const payload = payloadOf(body, task)
  if ('problem' in payload) return payload.problem

  const solution = { type, payload: payload.value, user_agent: userAgent, notes }
  if (payload.cookies === null) return { solution, expiresAt, session: null }
  const { cookies } = payload
  const expiries = cookies.flatMap(({ expires }) => expiryOf(expires))
  if (expiries.some((expiry) => !(expiry > task.now))) return invalid('payload', 'has a cookie that has expired')
  const ttlSec = ttlOf([...expiries, ...(expiresAt === null ? [] : [expiresAt])], task.now, settings)
  const session = {
    cookies: Object.fromEntries(cookies.map(({ name, value }) => [name, value])),
    data: type === 'session' ? payload.value : null,
    ttlSec,
  }
  return { solution, expiresAt: new Date(task.now.getTime() + ttlSec * 1000), session }
}

/** `cookies` is null for what is not cached. */
type Payload = { value: unknown; cookies: readonly Cookie[] | null } | { problem: HttpError }

function payloadOf({ type, payload }: Static<typeof SolutionBody>, { form }: TaskRow): Payload {
  if ((form !== null) !== (type === 'answer')) {
    const message = form === null ? 'is only for tasks with a form' : 'must be answer: the task has a form'
    return { problem: invalid('type', message) }
  }
  switch (type) {
    case 'answer': {
      const answer = form === null ? 'is not asked for' : checkAnswer(form, payload)
      return typeof answer === 'string' ? { problem: invalid('payload', answer) } : { value: answer, cookies: null }
    }
    case 'token':
      if (typeof payload !== 'string' || payload === '') return { problem: invalid('payload', 'must be a text') }
      return { value: payload, cookies: null }
    case 'cookie':
      if (!Array.isArray(payload) || payload.length === 0)
        return { problem: invalid('payload', 'must be a list of cookies') }
      return { value: payload, cookies: payload }
    case 'session': {
      if (typeof payload === 'string' || Array.isArray(payload))
        return { problem: invalid('payload', 'must be an object') }
      if (JSON.stringify(payload).length > SESSION_CHARS_MAX) return { problem: invalid('payload', 'is too large') }
      return { value: payload, cookies: cookiesOf(payload['cookies']) }
    }
  }
}

/** Of an object that may hold some, as a list or by name. What is not a cookie is left alone. */
function cookiesOf(value: unknown): Cookie[] {
  if (typeof value !== 'object' || value === null) return []
  const items = Array.isArray(value) ? value : Object.entries(value).map(([name, text]) => ({ name, value: text }))
  return items.flatMap((item: unknown) => {
    if (typeof item !== 'object' || item === null || !('name' in item) || !('value' in item)) return []
    const { name, value: text } = item
    if (typeof name !== 'string' || typeof text !== 'string') return []
    return new RegExp(COOKIE_NAME).test(name) && /^[\x20-\x3a\x3c-\x7e]*$/.test(text) ? [{ name, value: text }] : []
  })
}

function expiryOf(expires: Cookie['expires']): Date[] {
  if (expires === undefined || expires === null) return []
  if (typeof expires === 'string') return [new Date(expires)]
  return expires > 0 ? [new Date(expires * 1000)] : []
}

/** The earliest of all that was said, never more than the longest; nothing said: the default. */
function ttlOf(expiries: readonly Date[], now: Date, settings: DeskSettings): number {
  const { CAPTCHA_SESSION_TTL: usual, CAPTCHA_SESSION_MAX_TTL: longest } = settings
  const saidSec = expiries.map((expiry) => (expiry.getTime() - now.getTime()) / 1000)
  const ttlSec = saidSec.length === 0 ? usual : Math.min(...saidSec)
  return Math.max(1, Math.floor(Math.min(ttlSec, longest)))
}

// What an operator submits, and how long it is valid (docs/desk.md, section 5).
//
//   cookie   a list of cookies           → cached as the session of the domain
//   session  an object                   → cached as the session of the domain
//   token    a text, single use          → on the task only
//   answer   the fields of the form      → on the task only
import { Type, type Static } from 'typebox'
import type { HttpError } from '../../../core/http/errors/http-error.ts'
import { isObject } from '../../../core/values/is-object.ts'
import { invalid } from '../errors.ts'
import type { DeskSettings } from '../settings.ts'
import { checkAnswer } from '../tasks/form.ts'
import type { TaskRow } from '../tasks/task.ts'
import { cookieItem, CookieInput, cookiesWithin, type CookieItem } from './cookie.ts'
import { parseMoment } from './moment.ts'

const COOKIES_MAX = 200
const TOKEN_CHARS_MAX = 65_536
const PAYLOAD_CHARS_MAX = 262_144

export const UserAgent = Type.String({ maxLength: 1024, pattern: String.raw`^[\x20-\x7e]*$` })

const Cookies = Type.Array(CookieInput, { maxItems: COOKIES_MAX })
const SomeObject = Type.Record(Type.String(), Type.Unknown())

export const SolutionBody = Type.Object({
  type: Type.Optional(Type.Enum(['cookie', 'token', 'session', 'answer'], { description: 'Default: cookie.' })),
  payload: Type.Optional(
    Type.Union([Cookies, SomeObject, Type.String({ maxLength: TOKEN_CHARS_MAX }), Type.Null()], {
      description: 'cookie: a list. session: an object. token: a text, or {"token": …}. answer: values by field.',
    }),
  ),
  cf_clearance: Type.Optional(
    Type.Union([Type.String({ maxLength: 8192 }), Type.Null()], {
      description: 'The value of that cookie; beside or in place of a payload.',
    }),
  ),
  cookies_json: Type.Optional(
    Type.Union([Cookies, SomeObject, Type.Null()], { description: 'Cookies, as a list or by name; likewise.' }),
  ),
  user_agent: Type.Optional(Type.Union([UserAgent, Type.Null()])),
  expires_at: Type.Optional(Type.Union([Type.String({ maxLength: 40 }), Type.Null()])),
  notes: Type.Optional(Type.Union([Type.String({ maxLength: 4000 }), Type.Null()])),
})
type SolutionBody = Static<typeof SolutionBody>

export type SolutionType = 'cookie' | 'token' | 'session' | 'answer'

export interface ParsedSolution {
  type: SolutionType
  payload: unknown
  /** Of a cookie or session solution; otherwise empty. */
  cookies: readonly CookieItem[]
  userAgent: string | null
  notes: string | null
  expiresAt: Date | null
  /** Seconds for which it is cached. Null: it is on the task only. */
  sessionTtlSec: number | null
}

export function parseSolution(body: SolutionBody, task: TaskRow, settings: DeskSettings): ParsedSolution | HttpError {
  const { type = 'cookie', notes = null, user_agent: userAgent = null } = body
  const said = body.expires_at ?? null
  const expiresAt = said === null ? null : parseMoment(said)
  if (said !== null && expiresAt === null) return invalid('expires_at', 'must be a time in ISO-8601')
  if (expiresAt !== null && !(expiresAt > task.now)) return invalid('expires_at', 'must not be in the past')
  const content = contentOf(type, body, task)
  if ('error' in content) return content.error
  if (JSON.stringify(content.payload).length > PAYLOAD_CHARS_MAX) return invalid('payload', 'is too large')

  const { payload, cookies } = content
  const base = { type, payload, cookies: cookies ?? [], userAgent, notes }
  if (cookies === null) return { expiresAt, sessionTtlSec: null, ...base }
  const expiries = cookies.flatMap(({ expires_at: expiry }) => (expiry === undefined ? [] : [new Date(expiry)]))
  if (expiries.some((expiry) => !(expiry > task.now))) return invalid('payload', 'has a cookie that has expired')
  const ttlSec = ttlOf([...expiries, ...(expiresAt === null ? [] : [expiresAt])], task.now, settings)
  return { expiresAt: new Date(task.now.getTime() + ttlSec * 1000), sessionTtlSec: ttlSec, ...base }
}

/** `cookies` is null for what is not cached. */
type Content = { payload: unknown; cookies: readonly CookieItem[] | null } | { error: HttpError }

function contentOf(type: SolutionType, body: SolutionBody, { form }: TaskRow): Content {
  const payload = body.payload ?? null
  const wrong = (message: string) => ({ error: invalid('payload', message) })
  if ((form !== null) !== (type === 'answer')) {
    const message = form === null ? 'is only for tasks with a form' : 'must be answer: the task has a form'
    return { error: invalid('type', message) }
  }
  switch (type) {
    case 'answer': {
      const answer = form === null ? 'is not asked for' : checkAnswer(form, payload)
      return typeof answer === 'string' ? wrong(answer) : { payload: answer, cookies: null }
    }
    case 'token': {
      const token = isObject(payload) ? payload['token'] : payload
      if (typeof token !== 'string' || token === '') return wrong('must be a text, or an object with a token')
      return { payload: token, cookies: null }
    }
    case 'cookie': {
      if (payload !== null && !Array.isArray(payload)) return wrong('must be a list of cookies')
      const cookies = cookiesOf([...(payload ?? []), ...legacyCookies(body)])
      if (cookies === null) return wrong('has a cookie whose expiry is not a time')
      return cookies.length === 0 ? wrong('must have at least one cookie') : { payload: payload ?? cookies, cookies }
    }
    case 'session': {
      if (payload !== null && !isObject(payload)) return wrong('must be an object')
      const cookies = cookiesOf([...cookiesWithin(payload?.['cookies']), ...legacyCookies(body)])
      if (cookies === null) return wrong('has a cookie whose expiry is not a time')
      if (cookies.length === 0 && isHollow(payload)) return wrong('must not be empty')
      return { payload: payload ?? { cookies }, cookies }
    }
  }
}

/** Clients of older servers send the clearance cookie, or all cookies, beside the payload. */
function legacyCookies({ cf_clearance: clearance = null, cookies_json: cookies = null }: SolutionBody): CookieInput[] {
  const named = clearance === null || clearance === '' ? [] : cookiesWithin({ cf_clearance: clearance })
  return [...named, ...cookiesWithin(cookies)]
}

/** Of the same name, domain and path, the last counts. Null: one has an expiry that is not a moment. */
function cookiesOf(inputs: readonly CookieInput[]): CookieItem[] | null {
  const cookies = new Map<string, CookieItem>()
  for (const input of inputs) {
    const cookie = cookieItem(input)
    if (cookie === null) return null
    cookies.set(JSON.stringify([cookie.name, cookie.domain, cookie.path]), cookie)
  }
  return [...cookies.values()]
}

/** Nothing in it but empty texts, lists and objects. */
function isHollow(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) && Object.values(value).every(isHollow)
}

/** The earliest time of all, at most CAPTCHA_SESSION_MAX_TTL; CAPTCHA_SESSION_TTL if there is none. */
function ttlOf(expiries: readonly Date[], now: Date, settings: DeskSettings): number {
  const { CAPTCHA_SESSION_TTL: usual, CAPTCHA_SESSION_MAX_TTL: longest } = settings
  const saidSec = expiries.map((expiry) => (expiry.getTime() - now.getTime()) / 1000)
  const ttlSec = saidSec.length === 0 ? usual : Math.min(...saidSec)
  return Math.max(1, Math.floor(Math.min(ttlSec, longest)))
}

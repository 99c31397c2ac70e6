// A cookie as it is submitted, kept and shown (docs/desk.md, section 5).
import { Type, type Static } from 'typebox'
import { isObject } from '../../../core/values/is-object.ts'
import { parseMoment } from './moment.ts'

const NAME = String.raw`^[!#$%&'*+\-.^_\x60|~0-9A-Za-z]+$`
const VALUE = String.raw`^[\x20-\x3a\x3c-\x7e]*$`
const NAME_CHARS_MAX = 256
const VALUE_CHARS_MAX = 8192

const Expiry = Type.Optional(
  Type.Union([Type.Number(), Type.String({ maxLength: 40 }), Type.Null()], {
    description: 'Unix seconds, or ISO-8601 (UTC without a zone). Negative, zero or null: when the browser closes.',
  }),
)
const Flag = Type.Optional(Type.Union([Type.Boolean(), Type.Null()]))
const text = (maxLength: number) => Type.Optional(Type.Union([Type.String({ maxLength }), Type.Null()]))

/** `expires` and `httpOnly` are what browsers and their tools export. */
export const CookieInput = Type.Object({
  name: Type.String({ minLength: 1, maxLength: NAME_CHARS_MAX, pattern: NAME }),
  value: Type.String({ maxLength: VALUE_CHARS_MAX, pattern: VALUE }),
  domain: text(260),
  path: text(1024),
  expires_at: Expiry,
  expires: Expiry,
  secure: Flag,
  http_only: Flag,
  httpOnly: Flag,
  sameSite: text(20),
})
export type CookieInput = Static<typeof CookieInput>

export const CookieItem = Type.Object({
  name: Type.String(),
  value: Type.String(),
  domain: Type.Optional(Type.String()),
  path: Type.Optional(Type.String()),
  expires_at: Type.Optional(Type.String({ format: 'date-time' })),
  secure: Type.Optional(Type.Boolean()),
  http_only: Type.Optional(Type.Boolean()),
  sameSite: Type.Optional(Type.String()),
})
export type CookieItem = Static<typeof CookieItem>

/** Null: its expiry is not a moment. */
export function cookieItem(input: CookieInput): CookieItem | null {
  const expiresAt = expiryOf(input.expires_at ?? input.expires ?? null)
  if (expiresAt === 'invalid') return null
  const { name, value } = input
  const [domain, path, sameSite] = [input.domain ?? '', input.path ?? '', input.sameSite ?? '']
  const httpOnly = input.http_only ?? input.httpOnly ?? null
  return {
    name,
    value,
    ...(domain === '' ? {} : { domain }),
    ...(path === '' ? {} : { path }),
    ...(expiresAt === null ? {} : { expires_at: expiresAt.toISOString() }),
    ...(typeof input.secure === 'boolean' ? { secure: input.secure } : {}),
    ...(httpOnly === null ? {} : { http_only: httpOnly }),
    ...(sameSite === '' ? {} : { sameSite }),
  }
}

function expiryOf(expires: number | string | null): Date | null | 'invalid' {
  if (expires === null || expires === '' || (typeof expires === 'number' && expires <= 0)) return null
  const moment = typeof expires === 'number' ? new Date(expires * 1000) : parseMoment(expires)
  return moment === null || Number.isNaN(moment.getTime()) ? 'invalid' : moment
}

/** What may be cookies inside an object: a list, or values by name. What is not a cookie is left out. */
export function cookiesWithin(value: unknown): CookieInput[] {
  const items: unknown[] = Array.isArray(value)
    ? value
    : isObject(value)
      ? Object.entries(value).map(([name, text]) => ({ name, value: text }))
      : []
  return items.flatMap((item) => {
    if (!isObject(item)) return []
    const { name, value: text } = item
    const isName = typeof name === 'string' && name.length <= NAME_CHARS_MAX && new RegExp(NAME).test(name)
    const isValue = typeof text === 'string' && text.length <= VALUE_CHARS_MAX && new RegExp(VALUE).test(text)
    return isName && isValue ? [{ ...attributesOf(item), name, value: text }] : []
  })
}

function attributesOf(item: Readonly<Record<string, unknown>>): Partial<CookieInput> {
  const expires = item['expires_at'] ?? item['expires']
  const httpOnly = item['http_only'] ?? item['httpOnly']
  const { domain, path, secure, sameSite } = item
  return {
    ...(typeof expires === 'number' || typeof expires === 'string' ? { expires_at: expires } : {}),
    ...(typeof httpOnly === 'boolean' ? { http_only: httpOnly } : {}),
    ...(typeof secure === 'boolean' ? { secure } : {}),
    ...(typeof domain === 'string' ? { domain } : {}),
    ...(typeof path === 'string' ? { path } : {}),
    ...(typeof sameSite === 'string' ? { sameSite } : {}),
  }
}

export const cfClearanceOf = (cookies: readonly CookieItem[]): string | null =>
  cookies.find(({ name }) => name === 'cf_clearance')?.value ?? null

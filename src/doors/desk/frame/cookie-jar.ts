// Cookies that a page in the frame sets, sealed, while the task is open. They go with the page's further requests and are proposed to
// the operator; the browser never gets them. (RFC 6265, as far as one page needs it.)
import type { Database } from '../../../core/db/database.ts'
import type { Sealer } from '../solutions/seal.ts'
import type { CookieItem } from '../solutions/cookie.ts'

const KEEP = `
  insert into captcha_cookie (uuid, domain, path, name, host_only, value, secure, http_only, same_site, expires_at)
  select r.uuid, r.domain, r.path, r.name, r.host_only, r.value, r.secure, r.http_only, r.same_site, r.expires_at
    from json_to_recordset($1) as r (uuid uuid, domain text, path text, name text, host_only boolean, value text,
         secure boolean, http_only boolean, same_site text, expires_at timestamptz)
    join captcha_task t on t.uuid = r.uuid and t.ended_at is null
      on conflict (uuid, domain, path, name) do update
     set host_only = excluded.host_only, value = excluded.value, secure = excluded.secure, http_only = excluded.http_only,
         same_site = excluded.same_site, expires_at = excluded.expires_at, captured_at = clock_timestamp()`
const SELECT_NAMES = `select domain, path, name from captcha_cookie where uuid = $1`
const LIVE = `
  select domain, path, name, host_only, value, secure, http_only, same_site, expires_at from captcha_cookie
   where uuid = $1 and (expires_at is null or expires_at > clock_timestamp()) order by name, domain, path`

const COOKIES_MAX = 100
const LINE_CHARS_MAX = 8192
const PATH_CHARS_MAX = 1024
const AGE_MS_MAX = 400 * 86_400_000 // as browsers have it

export interface Captured {
  name: string
  value: string
  domain: string
  hostOnly: boolean
  path: string
  secure: boolean
  httpOnly: boolean
  sameSite: string | null
  expiresAt: Date | null
}

/** Null: no cookie, one for a host that is not the page's, or one that is too long to be kept. */
export function parseSetCookie(line: string, url: URL, now: Date): Captured | null {
  if (line.length > LINE_CHARS_MAX) return null
  const [pair = '', ...parts] = line.split(';')
  const cut = pair.indexOf('=')
  const name = pair.slice(0, Math.max(0, cut)).trim()
  const value = pair.slice(cut + 1).trim()
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/.test(name) || !/^[\x20-\x7e]*$/.test(value)) return null
  const attributes = new Map(
    parts.map((part) => {
      const [key = '', ...rest] = part.split('=')
      return [key.trim().toLowerCase(), rest.join('=').trim()]
    }),
  )
  const named = (attributes.get('domain') ?? '').replace(/^\./, '').toLowerCase()
  if (named !== '' && !(isSubdomain(url.hostname, named) && named.includes('.'))) return null
  const said = attributes.get('path') ?? ''
  const path = said.startsWith('/') ? said : url.pathname.replace(/\/[^/]*$/, '') || '/'
  if (path.length > PATH_CHARS_MAX || !/^[\x20-\x7e]*$/.test(path)) return null
  return {
    name,
    value,
    domain: named === '' ? url.hostname : named,
    hostOnly: named === '',
    path,
    secure: attributes.has('secure'),
    httpOnly: attributes.has('httponly'),
    sameSite: /^(?:strict|lax|none)$/i.exec(attributes.get('samesite') ?? '')?.[0] ?? null,
    expiresAt: expiryOf(attributes, now),
  }
}

function expiryOf(attributes: ReadonlyMap<string, string>, now: Date): Date | null {
  const maxAge = attributes.get('max-age')
  const isAge = maxAge !== undefined && /^-?\d{1,10}$/.test(maxAge)
  const at = isAge ? now.getTime() + Number(maxAge) * 1000 : Date.parse(attributes.get('expires') ?? '')
  return Number.isNaN(at) ? null : new Date(Math.min(Math.max(at, 0), now.getTime() + AGE_MS_MAX))
}

const isSubdomain = (host: string, domain: string): boolean => host === domain || host.endsWith(`.${domain}`)

function goesTo(cookie: Captured, url: URL): boolean {
  const isHost = cookie.hostOnly ? url.hostname === cookie.domain : isSubdomain(url.hostname, cookie.domain)
  const isPath =
    url.pathname === cookie.path || url.pathname.startsWith(cookie.path.endsWith('/') ? cookie.path : `${cookie.path}/`)
  return isHost && isPath && (!cookie.secure || url.protocol === 'https:')
}

type Key = Pick<Captured, 'domain' | 'path' | 'name'>

const keyOf = ({ domain, path, name }: Key): string => `${domain} ${path} ${name}`

export interface CookieJar {
  keep(uuid: string, url: URL, lines: readonly string[], now: Date): Promise<void>
  /** The value of the Cookie header. Empty: none. */
  headerFor(uuid: string, url: URL): Promise<string>
  /** In the form of a solution's payload. */
  proposed(uuid: string): Promise<CookieItem[]>
}

export function openCookieJar(database: Database, sealer: Sealer): CookieJar {
  const live = async (uuid: string): Promise<Captured[]> =>
    (await database.query<CookieRow>(LIVE, [uuid])).map((row) => ({
      name: row.name,
      value: String(sealer.open(`cookie:${uuid}`, row.value)),
      domain: row.domain,
      hostOnly: row.host_only,
      path: row.path,
      secure: row.secure,
      httpOnly: row.http_only,
      sameSite: row.same_site,
      expiresAt: row.expires_at,
    }))

  return {
    async keep(uuid, url, lines, now) {
      const cookies = new Map(
        lines.flatMap((line) => {
          const cookie = parseSetCookie(line, url, now)
          return cookie === null ? [] : [[keyOf(cookie), cookie] as const]
        }),
      )
      if (cookies.size === 0) return
      const kept = new Set((await database.query<Key>(SELECT_NAMES, [uuid])).map(keyOf))
      const isKept = (cookie: Captured) => kept.has(keyOf(cookie))
      const changed = [...cookies.values()].filter(isKept)
      const added = [...cookies.values()].filter((cookie) => !isKept(cookie))
      const room = Math.max(0, COOKIES_MAX - kept.size)
      const rows = [...changed, ...added.slice(0, room)].map((cookie) => ({
        uuid,
        ...cookie,
        host_only: cookie.hostOnly,
        http_only: cookie.httpOnly,
        same_site: cookie.sameSite,
        expires_at: cookie.expiresAt,
        value: sealer.seal(`cookie:${uuid}`, cookie.value),
      }))
      if (rows.length > 0) await database.query(KEEP, [JSON.stringify(rows)])
    },
    async headerFor(uuid, url) {
      const cookies = (await live(uuid)).filter((cookie) => goesTo(cookie, url))
      return cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    },
    async proposed(uuid) {
      return (await live(uuid)).map((cookie) => ({
        name: cookie.name,
        value: cookie.value,
        domain: cookie.domain,
        path: cookie.path,
        secure: cookie.secure,
        http_only: cookie.httpOnly,
        ...(cookie.sameSite === null ? {} : { sameSite: cookie.sameSite }),
        ...(cookie.expiresAt === null ? {} : { expires_at: cookie.expiresAt.toISOString() }),
      }))
    },
  }
}

interface CookieRow {
  domain: string
  path: string
  name: string
  host_only: boolean
  value: string
  secure: boolean
  http_only: boolean
  same_site: string | null
  expires_at: Date | null
}

// Sessions: what a solution is cached as for its domain until it expires. A session belongs to the creator of the task, and to the
// proxy and user agent that it was made with.
import { createHash } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { Parse } from 'typebox/value'
import { batched } from '../../../core/db/batch.ts'
import type { Database, Queryable } from '../../../core/db/database.ts'
import { groupBy } from '../../../core/values/group-by.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import { CookieItem } from '../solutions/cookie.ts'
import type { Sealer } from '../solutions/seal.ts'

// Two that were solved at the same moment share a statement: either may win.
const STORE = `
  insert into captcha_session (account_id, domain, variant, uuid, value, user_agent, proxy_id, proxy_shown, expires_at)
  select distinct on (account_id, domain, variant) account_id, domain, variant, uuid, value, user_agent, proxy_id,
         proxy_shown, clock_timestamp() + ttl_sec * interval '1 second'
    from json_to_recordset($1) as r (account_id bigint, domain text, variant text, uuid uuid, value text, user_agent text,
         proxy_id text, proxy_shown text, ttl_sec integer)
   order by account_id, domain, variant
      on conflict (account_id, domain, variant) do update
     set uuid = excluded.uuid, value = excluded.value, expires_at = excluded.expires_at,
         created_at = clock_timestamp(), user_agent = excluded.user_agent`

const COLUMNS = `s.session_id, s.account_id, s.domain, s.uuid, s.value, s.user_agent, s.proxy_id, s.proxy_shown, s.created_at,
  s.expires_at`

// The one that was solved last comes first: there is one for each proxy and user agent.
const SELECT_MANY = `
  select ${COLUMNS}
    from json_to_recordset($1) as asked (account_id bigint, domain text)
    join captcha_session s on s.account_id = asked.account_id and s.domain = asked.domain
   where s.expires_at > clock_timestamp()
   order by s.created_at desc, s.session_id desc`

const DELETE_OF_TASK = `delete from captcha_session where uuid = $1 returning account_id, domain, clock_timestamp() as now`
const DELETE_OF_DOMAIN = `
  delete from captcha_session where domain = $1 and ($2::bigint is null or account_id = $2) returning account_id, domain, clock_timestamp() as now`
const DELETE_EXPIRED = `
  delete from captcha_session where session_id = any (array(
    select session_id from captcha_session where expires_at <= statement_timestamp() limit $1))
  returning account_id, domain, clock_timestamp() as now`
const LIVE = `
  select distinct on (s.domain) ${COLUMNS} from captcha_session s
   where s.expires_at > clock_timestamp() order by s.domain, s.created_at desc limit $1`

export interface SessionRow {
  session_id: string
  account_id: string
  domain: string
  uuid: string
  value: string
  user_agent: string | null
  proxy_id: string | null
  proxy_shown: string | null
  created_at: Date
  expires_at: Date
}

export interface NewSession {
  accountId: number
  domain: string
  uuid: string
  /** Sealed. */
  value: string
  userAgent: string | null
  proxyId: string | null
  proxyShown: string | null
  ttlSec: number
  /** When the task was read: the moment of the solution, but for milliseconds. */
  createdAt: Date
}

export const storeSession = (session: NewSession): Effect => ({
  sql: STORE,
  row: {
    account_id: session.accountId,
    domain: session.domain,
    variant: variantOf(session),
    uuid: session.uuid,
    value: session.value,
    user_agent: session.userAgent,
    proxy_id: session.proxyId,
    proxy_shown: session.proxyShown,
    ttl_sec: session.ttlSec,
  },
})

const variantOf = ({ userAgent, proxyId }: NewSession): string =>
  createHash('sha256')
    .update(JSON.stringify([proxyId, userAgent]))
    .digest('hex')

export interface DeletedSession {
  account_id: string
  domain: string
  now: Date
}

export const deleteOfTask = (on: Queryable, uuid: string): Promise<DeletedSession[]> =>
  on.query<DeletedSession>(DELETE_OF_TASK, [uuid])

/** Of one account, or of all. */
export const deleteOfDomain = (on: Queryable, domain: string, accountId: number | null): Promise<DeletedSession[]> =>
  on.query<DeletedSession>(DELETE_OF_DOMAIN, [domain, accountId])

export const deleteExpired = (on: Queryable, limit: number): Promise<DeletedSession[]> =>
  on.query<DeletedSession>(DELETE_EXPIRED, [limit])

/** The newest live one of each domain. */
export const liveSessions = (on: Queryable, limit: number): Promise<SessionRow[]> => on.query<SessionRow>(LIVE, [limit])

export interface SessionKey {
  accountId: number
  domain: string
}

export type SessionReader = (asked: SessionKey) => Promise<readonly SessionRow[]>

/** Many programs ask at once, and often for the same domain: their reads share a query. */
export function openSessionReader(database: Database): SessionReader {
  const nameOf = (accountId: number, domain: string) => `${accountId} ${domain}`
  return batched<SessionKey, readonly SessionRow[]>({
    async run(asked) {
      const wanted = new Map(asked.map((one) => [nameOf(one.accountId, one.domain), one]))
      const rows = [...wanted.values()].map(({ accountId, domain }) => ({ account_id: accountId, domain }))
      const found = await database.hot.query<SessionRow>(SELECT_MANY, [JSON.stringify(rows)])
      const rowsOf = groupBy(found, (row) => nameOf(Number(row.account_id), row.domain))
      return asked.map(({ accountId, domain }) => rowsOf.get(nameOf(accountId, domain)) ?? [])
    },
  })
}

/** What a session holds, sealed. */
const SessionValue = Type.Object({
  cookies: Type.Array(CookieItem),
  /** The object, where the solution was one. */
  data: Type.Unknown(),
})
export type SessionValue = Static<typeof SessionValue>

export const sealSession = (
  sealer: Sealer,
  uuid: string,
  value: { cookies: readonly CookieItem[]; data: unknown },
): string => sealer.seal(`session:${uuid}`, value)

export const openSession = (sealer: Sealer, row: Pick<SessionRow, 'uuid' | 'value'>): SessionValue =>
  Parse(SessionValue, sealer.open(`session:${row.uuid}`, row.value))

// A session as Redis holds it: sealed, which only this server can read, or with CAPTCHA_REDIS_SESSIONS=plain in the form that workers
// read: `{domain, cookies: {name: value}, user_agent, proxy_url, created_at, expires_at}`.
import type { Proxies } from '../domains/proxies.ts'
import { openSession, type NewSession, type SessionRow } from '../sessions/session-store.ts'
import { Unsealable, type Sealer } from '../solutions/seal.ts'

type MirroredSession = Pick<
  SessionRow,
  'domain' | 'uuid' | 'value' | 'user_agent' | 'proxy_id' | 'proxy_shown' | 'created_at' | 'expires_at'
>

export type SessionText = (session: MirroredSession) => string

export const sealedText: SessionText = ({ uuid, value }) => JSON.stringify({ uuid, sealed: value })

export const plainText =
  ({ sealer, proxies }: { sealer: Sealer; proxies: Proxies }): SessionText =>
  (session) => {
    try {
      const { cookies } = openSession(sealer, session)
      return JSON.stringify({
        domain: session.domain,
        cookies: Object.fromEntries(cookies.map(({ name, value }) => [name, value])),
        user_agent: session.user_agent,
        proxy_url: proxies.byId(session.proxy_id)?.url ?? session.proxy_shown,
        created_at: session.created_at.toISOString(),
        expires_at: session.expires_at.toISOString(),
      })
    } catch (error) {
      if (error instanceof Unsealable) return sealedText(session) // another server has its key
      throw error
    }
  }

export const mirroredSession = (session: NewSession): MirroredSession => ({
  domain: session.domain,
  uuid: session.uuid,
  value: session.value,
  user_agent: session.userAgent,
  proxy_id: session.proxyId,
  proxy_shown: session.proxyShown,
  created_at: session.createdAt,
  expires_at: new Date(session.createdAt.getTime() + session.ttlSec * 1000),
})

// GET and DELETE /sessions/{domain}: the cached session of a program's own tasks.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { sendJsonText } from '../../../core/http/send-json.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { preferredWaitMs, waitSignal } from '../../../core/http/request/prefer.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { sessionExpired, sessionsDeleted } from '../changes/session-changes.ts'
import type { Proxies } from '../domains/proxies.ts'
import type { Desk } from '../desk.ts'
import { domainOf } from '../domains/domain.ts'
import { actorOf, deskGuard, has, type GuardParts } from '../guard.ts'
import { cfClearanceOf, CookieItem } from '../solutions/cookie.ts'
import { opening } from '../solutions/open-solution.ts'
import type { Sealer } from '../solutions/seal.ts'
import { deleteOfDomain, openSession, type SessionKey, type SessionRow } from './session-store.ts'

const SESSIONS_SHOWN_MAX = 20

const Path = Type.Object({ domain: Type.String({ maxLength: 512 }) })
const Moment = Type.String({ format: 'date-time' })
const Text = Type.Union([Type.String(), Type.Null()])
const Session = Type.Object({
  domain: Type.String(),
  has_session: Type.Literal(true),
  cf_clearance: Text,
  user_agent: Text,
  cookies: Type.Union([Type.Array(CookieItem), Type.Null()]),
  proxy_url: Text,
  expires_at: Moment,
  created_at: Moment,
  data: Type.Unknown({ description: 'The object, where the solution was one.' }),
  task_uuid: Type.String(),
})
const SessionResponse = Type.Object({
  domain: Type.String(),
  has_session: Type.Boolean(),
  session: Type.Union([Session, Type.Null()], { description: 'The one that was solved last.' }),
  sessions: Type.Array(Session, { description: 'All of them: one for each proxy and user agent.' }),
  wait_timeout: Type.Integer({
    description: 'CAPTCHA_WORKER_WAIT_TIMEOUT: how long a program should wait, in seconds.',
  }),
})
type SessionAnswer = Static<typeof SessionResponse>
const Deleted = Type.Object({ domain: Type.String(), deleted: Type.Integer(), message: Type.String() })

type SessionParts = GuardParts & Pick<Desk, 'sessions' | 'sessionWaits' | 'changes' | 'sealer' | 'proxies'>

export const sessionsRoute =
  (parts: SessionParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { CAPTCHA_WORKER_WAIT_TIMEOUT: waitTimeout } = parts.settings
    const secured = { tags: ['desk'], security: SECURED, params: Path }
    // One read answers all who wait for a domain: its sessions are opened and written once, however many wait.
    const answers = new WeakMap<readonly SessionRow[], string>()
    const answerOf = (domain: string, rows: readonly SessionRow[]): SessionAnswer => {
      const sessions = rows.slice(0, SESSIONS_SHOWN_MAX).map((row) => viewOf(parts, row))
      const [session = null] = sessions
      return { domain, has_session: session !== null, session, sessions, wait_timeout: waitTimeout }
    }

    app.get(
      '/api/v1/captcha/sessions/:domain',
      {
        onRequest: deskGuard(parts, 'SCRAPER'),
        schema: {
          ...secured,
          summary: 'The cached session of a domain. `Prefer: wait=N` (at most 50) waits for one.',
          response: { 200: SessionResponse, ...refusals(401, 403, 422) },
        },
      },
      async (request, reply) => {
        const of = { accountId: accountOf(request).accountId, domain: parsedDomain(request.params.domain) }
        const rows = await findSessions(parts, of, request, reply)
        const answer = answers.get(rows) ?? String(reply.code(200).serialize(answerOf(of.domain, rows)))
        answers.set(rows, answer)
        return sendJsonText(reply, answer)
      },
    )

    app.delete(
      '/api/v1/captcha/sessions/:domain',
      {
        onRequest: deskGuard(parts, 'SCRAPER', 'ADMIN'),
        schema: {
          ...secured,
          summary: 'Forget the sessions of a domain: my own, or for an admin all.',
          response: { 200: Deleted, ...refusals(401, 403, 422) },
        },
      },
      async (request) => {
        const domain = parsedDomain(request.params.domain)
        const accountId = has(request, 'ADMIN') ? null : accountOf(request).accountId
        const deleted = await deleteSessions(parts, { domain, accountId, actor: actorOf(request) })
        return { domain, deleted, message: deleted === 0 ? 'There was no session' : 'Session deleted' }
      },
    )
  }

async function findSessions(
  { sessions, sessionWaits }: SessionParts,
  key: SessionKey,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const timeoutMs = preferredWaitMs(request)
  if (timeoutMs === 0) return sessions(key)
  reply.header('preference-applied', `wait=${timeoutMs / 1000}`)
  return sessionWaits.wait(key, { timeoutMs, signal: waitSignal(request, reply) })
}

interface Deletion {
  domain: string
  /** Null: of all accounts. */
  accountId: number | null
  actor: string
}

async function deleteSessions({ changes }: SessionParts, { domain, accountId, actor }: Deletion): Promise<number> {
  let count = 0
  await changes.transact(async (tx) => {
    const deleted = await deleteOfDomain(tx, domain, accountId)
    count = deleted.length
    if (count === 0) return []
    return [sessionsDeleted(actor, domain, count), ...deleted.map((session) => sessionExpired(session, 'deleted'))]
  })
  return count
}

function viewOf({ sealer, proxies }: { sealer: Sealer; proxies: Proxies }, row: SessionRow): Static<typeof Session> {
  const { cookies, data } = opening(() => openSession(sealer, row))
  return {
    domain: row.domain,
    has_session: true,
    cf_clearance: cfClearanceOf(cookies),
    user_agent: row.user_agent,
    cookies: cookies.length === 0 ? null : cookies,
    proxy_url: proxies.byId(row.proxy_id)?.url ?? row.proxy_shown,
    expires_at: row.expires_at.toISOString(),
    created_at: row.created_at.toISOString(),
    data,
    task_uuid: row.uuid,
  }
}

function parsedDomain(text: string): string {
  const domain = domainOf(text)
  if (domain !== null) return domain
  const message = 'must be a domain'
  const fields = [{ path: ['path', 'domain'], message, rule: 'value_error' }]
  throw new HttpError(422, 'validation_failed', `path.domain ${message}.`, { fields })
}

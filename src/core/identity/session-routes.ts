// /auth/session: the login of the console, in a cookie. /auth/sessions: the logins of an account.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Config } from '../config.ts'
import { accountOf, requireAccount } from '../http/auth/guard.ts'
import { requireAllowedOrigin } from '../http/auth/origins.ts'
import { endedSessionCookie, sessionCookie } from '../http/auth/session-cookie.ts'
import { refusals } from '../http/errors/detail.ts'
import { HttpError } from '../http/errors/http-error.ts'
import { STRANGER_BYTES_MAX } from '../http/request/body.ts'
import { SECURED } from '../http/routes/docs.ts'
import { logIn, Login, Me, visitorError } from './auth-routes.ts'
import type { Identity } from './identity.ts'
import type { LoggedIn } from './login.ts'
import type { AccountSession } from './tokens.ts'

const tags = ['accounts']
const SessionView = Type.Object({
  id: Type.Integer(),
  address: Type.String(),
  user_agent: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
  expires_at: Type.String({ format: 'date-time' }),
  current: Type.Boolean({ description: 'The login that asks.' }),
})
const SessionPath = Type.Object({ id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) })

export interface SessionRouteDeps {
  identity: Identity
  config: Pick<Config, 'PUBLIC_URL'>
}

export const sessionRoutes =
  ({ identity, config }: SessionRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const signedIn = requireAccount(identity)
    const cookie = { publicUrl: config.PUBLIC_URL }
    const withCookie = (reply: FastifyReply, { token, expiresInSec, account }: LoggedIn) =>
      reply
        .header('set-cookie', sessionCookie(token, expiresInSec, cookie))
        .header('cache-control', 'no-store')
        .send({ user_id: account.accountId, username: account.username, roles: [...account.roles] })

    app.post(
      '/auth/session',
      {
        onRequest: requireAllowedOrigin,
        bodyLimit: STRANGER_BYTES_MAX,
        schema: {
          tags,
          summary: 'Log in with a session cookie, for pages of the same origin.',
          body: Login,
          response: { 200: Me, ...refusals(401, 403, 422, 429) },
        },
      },
      async (request, reply) => {
        return withCookie(reply, await logIn(identity, request))
      },
    )

    app.post(
      '/auth/session/guest',
      {
        onRequest: requireAllowedOrigin,
        bodyLimit: STRANGER_BYTES_MAX,
        schema: {
          tags,
          summary: 'Log in as a new guest with a session cookie, for pages of the same origin.',
          response: { 200: Me, ...refusals(403, 409, 429) },
        },
      },
      async (request, reply) => {
        const userAgent = request.headers['user-agent'] ?? ''
        const answer = await identity.loginGuest({ address: request.ip, userAgent })
        if (!answer.ok) throw visitorError(answer)
        return withCookie(reply, answer)
      },
    )

    app.delete(
      '/auth/session',
      {
        onRequest: signedIn,
        schema: { tags, summary: 'End the session.', response: { 204: Type.Null(), ...refusals(401) } },
      },
      async (request, reply) => {
        if (request.credential?.isCookie === true) await identity.logout(request.credential.secret)
        return reply.code(204).header('set-cookie', endedSessionCookie(cookie)).send(null)
      },
    )

    await app.register(listRoutes({ identity }))
  }

const listRoutes =
  ({ identity }: { identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = requireAccount(identity)
    const secured = { tags, security: SECURED }

    app.get(
      '/auth/sessions',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'List the logins of the account, newest first.',
          response: { 200: Type.Object({ sessions: Type.Array(SessionView) }), ...refusals(401) },
        },
      },
      async (request) => {
        const token = request.credential?.kind === 'token' ? request.credential.secret : null
        const sessions = await identity.listSessions(accountOf(request).accountId, token)
        return { sessions: sessions.map(onWire) }
      },
    )

    app.delete(
      '/auth/sessions/:id',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'Revoke a login of the account. Its WebSockets end within 5 s.',
          params: SessionPath,
          response: { 204: Type.Null(), ...refusals(401, 404, 422) },
        },
      },
      async (request, reply) => {
        const revoked = await identity.revokeSession(accountOf(request).accountId, request.params.id)
        if (!revoked) throw new HttpError(404, 'not_found', 'Session not found')
        return reply.code(204).send(null)
      },
    )
  }

const onWire = ({ sessionId, address, userAgent, createdAt, expiresAt, isCurrent }: AccountSession) => ({
  id: sessionId,
  address,
  user_agent: userAgent,
  created_at: createdAt.toISOString(),
  expires_at: expiresAt.toISOString(),
  current: isCurrent,
})

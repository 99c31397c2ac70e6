// /api/auth/*: register, log in and log out, in the envelope. Every deployment has them, whichever doors are open.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { STRANGER_BYTES_MAX } from '../http/request/body.ts'
import { SECURED } from '../http/routes/docs.ts'
import { Failure, Success, type EnvelopeFormat } from '../http/errors/envelope.ts'
import { requireAccount } from '../http/auth/guard.ts'
import { HttpError, retryAfter } from '../http/errors/http-error.ts'
import { requireAllowedOrigin } from '../http/auth/origins.ts'
import type { Identity } from './identity.ts'
import type { VisitorAnswer } from './visitors.ts'

const tags = ['accounts']
const Credentials = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 1000 }),
  password: Type.String({ minLength: 1, maxLength: 2000 }),
})
const User = Type.Object({ userId: Type.Integer(), username: Type.String() })
const LoggedIn = Type.Object({ token: Type.String(), expiresAt: Type.String({ format: 'date-time' }), user: User })
const LoggedOut = Type.Object({ loggedOut: Type.Literal(true) })

export interface EnvelopeAuthDeps {
  identity: Identity
  envelope: EnvelopeFormat
}

export const envelopeAuthRoutes =
  ({ identity, envelope }: EnvelopeAuthDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/api/auth/register',
      {
        onRequest: requireAllowedOrigin,
        bodyLimit: STRANGER_BYTES_MAX,
        schema: {
          tags,
          summary: 'Create a player.',
          body: Credentials,
          response: { 201: Success(User), 400: Failure, 403: Failure, 409: Failure, 429: Failure },
        },
      },
      async (request, reply) => {
        const answer = await identity.registerVisitor({ ...request.body, roles: ['PLAYER'], address: request.ip })
        if (!answer.ok) throw visitorError(answer)
        const { accountId: userId, username } = answer.account
        return reply.code(201).send(envelope.success({ userId, username }))
      },
    )

    app.post(
      '/api/auth/login',
      {
        onRequest: requireAllowedOrigin,
        bodyLimit: STRANGER_BYTES_MAX,
        schema: {
          tags,
          summary: 'Get a token.',
          body: Credentials,
          response: { 200: Success(LoggedIn), 400: Failure, 401: Failure, 429: Failure },
        },
      },
      async (request, reply) => {
        const answer = await identity.login({
          ...request.body,
          address: request.ip,
          userAgent: request.headers['user-agent'] ?? '',
        })
        if (!answer.ok && answer.code === 'rate_limited') {
          throw new HttpError(429, 'rate_limited', '', { headers: retryAfter(answer.retryAfterSec) })
        }
        if (!answer.ok) throw new HttpError(401, 'invalid_credentials', '')
        const { token, expiresAt, account } = answer
        const user = { userId: account.accountId, username: account.username }
        return reply
          .header('cache-control', 'no-store')
          .send(envelope.success({ token, expiresAt: expiresAt.toISOString(), user }))
      },
    )

    await app.register(guestRoute({ identity, envelope }))
    await app.register(logoutRoute({ identity, envelope }))
  }

const guestRoute =
  ({ identity, envelope }: EnvelopeAuthDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags,
      summary: 'Log in as a new guest, who has no password and no rating.',
      response: { 200: Success(LoggedIn), 403: Failure, 429: Failure },
    }
    app.post('/api/auth/guest', { onRequest: requireAllowedOrigin, schema }, async (request, reply) => {
      const userAgent = request.headers['user-agent'] ?? ''
      const answer = await identity.loginGuest({ address: request.ip, userAgent })
      if (!answer.ok) throw visitorError(answer)
      const { token, expiresAt, account } = answer
      const user = { userId: account.accountId, username: account.username }
      return reply
        .header('cache-control', 'no-store')
        .send(envelope.success({ token, expiresAt: expiresAt.toISOString(), user }))
    })
  }

const logoutRoute =
  ({ identity, envelope }: EnvelopeAuthDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/api/auth/logout',
      {
        onRequest: requireAccount(identity),
        schema: {
          tags,
          summary: 'Revoke the token.',
          security: SECURED,
          response: { 200: Success(LoggedOut), 401: Failure },
        },
      },
      async (request, reply) => {
        // An API key is not a login; DELETE /auth/api-keys/{id} revokes it.
        if (request.credential?.kind !== 'token') throw new HttpError(401, 'unauthorized', '')
        await identity.logout(request.credential.secret)
        return reply.send(envelope.success({ loggedOut: true }))
      },
    )
  }

function visitorError(answer: Exclude<VisitorAnswer, { ok: true }>): HttpError {
  switch (answer.code) {
    case 'registration_closed':
      return new HttpError(403, 'registration_closed', '')
    case 'rate_limited':
      return new HttpError(429, 'rate_limited', '', { headers: retryAfter(answer.retryAfterSec) })
    case 'duplicate_user':
      return new HttpError(409, 'duplicate_user', '')
    default:
      return new HttpError(400, 'bad_request', '')
  }
}

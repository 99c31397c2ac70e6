// POST /admin/users/{id}/password-link: a link by which the owner of an account sets a password, once.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Config } from '../../config.ts'
import { requireRole } from '../../http/auth/guard.ts'
import { refusals } from '../../http/errors/detail.ts'
import { SECURED } from '../../http/routes/docs.ts'
import type { Identity } from '../../identity/identity.ts'
import type { PasswordLink } from '../../identity/passwords/password-link.ts'
import { changeOf, resetError, UserPath } from './users.ts'

export const LinkView = Type.Object({
  url: Type.String({ description: 'A page of the console. What follows # is the token, which no server logs.' }),
  token: Type.String(),
  expires_at: Type.String({ format: 'date-time' }),
})

export interface PasswordLinkDeps {
  identity: Identity
  config: Pick<Config, 'PUBLIC_URL'>
}

export const passwordLinkRoute =
  ({ identity, config }: PasswordLinkDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['admin'],
      security: SECURED,
      summary: 'A one-time link for another account, valid for a day. It replaces the link before it.',
      params: UserPath,
      response: { 201: LinkView, ...refusals(401, 403, 404, 409, 422) },
    }
    app.post(
      '/admin/users/:id/password-link',
      { onRequest: requireRole(identity, 'ADMIN'), schema },
      async (request, reply) => {
        const answer = await identity.createPasswordLink(changeOf(request))
        if (!answer.ok) throw resetError(answer.code)
        return reply
          .code(201)
          .header('cache-control', 'no-store')
          .send(linkOnWire(answer.link, request, config))
      },
    )
  }

/** Of the address that users see, or that the admin uses. */
export function linkOnWire(
  { token, expiresAt }: PasswordLink,
  { protocol, host }: Pick<FastifyRequest, 'protocol' | 'host'>,
  { PUBLIC_URL }: PasswordLinkDeps['config'],
) {
  const origin = URL.canParse(PUBLIC_URL) ? new URL(PUBLIC_URL).origin : `${protocol}://${host}`
  return { url: `${origin}/console/password-link#${token}`, token, expires_at: expiresAt.toISOString() }
}

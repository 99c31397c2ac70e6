// DELETE /admin/users/{id}: docs/http.md says what stays of an account.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { requireRole } from '../../http/auth/guard.ts'
import { refusals } from '../../http/errors/detail.ts'
import { HttpError } from '../../http/errors/http-error.ts'
import { SECURED } from '../../http/routes/docs.ts'
import type { Identity } from '../../identity/identity.ts'
import { changedAccount, changeOf, UserPath } from './users.ts'

export const deleteUserRoute =
  ({ identity }: { identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['admin'],
      security: SECURED,
      summary: 'Delete another account. What names it goes on to name it, as `deleted-<id>`.',
      params: UserPath,
      response: { 204: Type.Null(), ...refusals(401, 403, 404, 409, 422) },
    }
    app.delete('/admin/users/:id', { onRequest: requireRole(identity, 'ADMIN'), schema }, async (request, reply) => {
      const answer = await identity.deleteAccount(changeOf(request))
      if (!answer.ok && answer.code === 'own_account') {
        throw new HttpError(409, 'conflict', 'Another admin deletes your account')
      }
      changedAccount(answer)
      return reply.code(204).send(null)
    })
  }

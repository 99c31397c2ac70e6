// /admin/users: accounts and their roles.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { refusals } from '../../http/errors/detail.ts'
import { SECURED } from '../../http/routes/docs.ts'
import { accountOf, requireRole } from '../../http/auth/guard.ts'
import { HttpError } from '../../http/errors/http-error.ts'
import type { Account, AccountChange, ChangeAnswer } from '../../identity/accounts.ts'
import { registerError } from '../../identity/auth-routes.ts'
import type { Identity } from '../../identity/identity.ts'
import type { LinkAnswer } from '../../identity/passwords/password-link.ts'
import type { ResetAnswer } from '../../identity/passwords/reset-password.ts'
import { ROLES } from '../../identity/role.ts'

const LIMIT_DEFAULT = 100

const RoleName = Type.Enum([...ROLES])
const Roles = Type.Array(RoleName, { maxItems: 20 })
const User = Type.Object({
  user_id: Type.Integer(),
  username: Type.String(),
  roles: Type.Array(Type.String()),
  is_active: Type.Boolean(),
  created_at: Type.String({ format: 'date-time' }),
})
const Password = Type.String({ minLength: 1, maxLength: 2000 })
const NewUser = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 1000 }),
  password: Password,
  roles: Roles,
})
const Page = Type.Object({
  after: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Only ids above this one.' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: `Default ${LIMIT_DEFAULT}.` })),
  name: Type.Optional(Type.String({ maxLength: 120, description: 'Only names that begin with this, in any case.' })),
})
export const UserPath = Type.Object({ id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) })

const secured = { tags: ['admin'], security: SECURED }

export const userRoutes =
  ({ identity }: { identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = requireRole(identity, 'ADMIN')

    app.post(
      '/admin/users',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'Create an account with any roles.',
          body: NewUser,
          response: { 201: User, ...refusals(401, 403, 409, 422) },
        },
      },
      async (request, reply) => {
        const { username, password, roles } = request.body
        const actorId = accountOf(request).accountId
        const answer = await identity.register({ username, password, roles, actorId })
        if (!answer.ok) throw registerError(answer.code)
        return reply.code(201).send(onWire(answer.account))
      },
    )

    app.get(
      '/admin/users',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'List accounts, ordered by id.',
          querystring: Page,
          response: { 200: Type.Object({ users: Type.Array(User) }), ...refusals(401, 403, 422) },
        },
      },
      async (request) => {
        const { after = 0, limit = LIMIT_DEFAULT, name: namePrefix = '' } = request.query
        return { users: (await identity.listAccounts({ after, limit, namePrefix })).map(onWire) }
      },
    )

    await app.register(changeRoutes({ identity }))
    await app.register(passwordRoute({ identity }))
  }

const changeRoutes =
  ({ identity }: { identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = requireRole(identity, 'ADMIN')
    const changed = { 200: User, ...refusals(401, 403, 404, 409, 422) }
    app.put(
      '/admin/users/:id/roles',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'Set the roles of an account. They take effect with its next request.',
          params: UserPath,
          body: Type.Object({ roles: Roles }),
          response: changed,
        },
      },
      async (request) => onWire(changedAccount(await identity.setRoles(changeOf(request), request.body.roles))),
    )

    app.put(
      '/admin/users/:id/active',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'Close or reopen an account.',
          params: UserPath,
          body: Type.Object({ active: Type.Boolean() }),
          response: changed,
        },
      },
      async (request) => onWire(changedAccount(await identity.setActive(changeOf(request), request.body.active))),
    )
  }

const passwordRoute =
  ({ identity }: { identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      ...secured,
      summary: 'Give another account a new password. All its logins end; API keys do not.',
      params: UserPath,
      body: Type.Object({ password: Password }, { additionalProperties: false }),
      response: { 204: Type.Null(), ...refusals(401, 403, 404, 409, 422) },
    }
    app.put(
      '/admin/users/:id/password',
      { onRequest: requireRole(identity, 'ADMIN'), schema },
      async (request, reply) => {
        const answer = await identity.resetPassword({
          accountId: request.params.id,
          actorId: accountOf(request).accountId,
          newPassword: request.body.password,
          address: request.ip,
        })
        if (!answer.ok) throw resetError(answer.code)
        return reply.code(204).send(null)
      },
    )
  }

export function resetError(code: Exclude<ResetAnswer | LinkAnswer, { ok: true }>['code']): HttpError {
  switch (code) {
    case 'invalid_password':
      return registerError(code)
    case 'own_account':
      return new HttpError(409, 'conflict', 'Change your own password with the current one: POST /auth/password')
    case 'unknown_account':
      return userNotFound()
    case 'guest':
      return new HttpError(409, 'conflict', 'A guest has no password')
    case 'closed_account':
      return new HttpError(409, 'conflict', 'The account is closed: reopen it first')
  }
}

export const changeOf = (request: FastifyRequest<{ Params: { id: number } }>): AccountChange => ({
  accountId: request.params.id,
  actorId: accountOf(request).accountId,
})

export function changedAccount(answer: ChangeAnswer): Account {
  if (answer.ok) return answer.account
  if (answer.code === 'unknown_account') throw userNotFound()
  throw new HttpError(409, 'conflict', 'This is the last admin: make another one first')
}

const userNotFound = (): HttpError => new HttpError(404, 'not_found', 'User not found')

const onWire = ({ accountId, username, roles, isActive, createdAt }: Account) => ({
  user_id: accountId,
  username,
  roles: [...roles],
  is_active: isActive,
  created_at: createdAt.toISOString(),
})

// /admin/users: accounts and their roles.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { refusals } from '../http/errors/detail.ts'
import { SECURED } from '../http/routes/docs.ts'
import { accountOf, requireRole } from '../http/auth/guard.ts'
import { HttpError } from '../http/errors/http-error.ts'
import type { Account, AccountChange, ChangeAnswer } from '../identity/accounts.ts'
import { registerError } from '../identity/auth-routes.ts'
import type { Identity } from '../identity/identity.ts'
import { ROLES } from '../identity/role.ts'

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
const NewUser = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 1000 }),
  password: Type.String({ minLength: 1, maxLength: 2000 }),
  roles: Roles,
})
const Page = Type.Object({
  after: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Only ids above this one.' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: `Default ${LIMIT_DEFAULT}.` })),
})
const UserPath = Type.Object({ id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) })

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
        const answer = await identity.register(request.body)
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
          summary: 'List accounts.',
          querystring: Page,
          response: { 200: Type.Object({ users: Type.Array(User) }), ...refusals(401, 403, 422) },
        },
      },
      async (request) => {
        const { after = 0, limit = LIMIT_DEFAULT } = request.query
        return { users: (await identity.listAccounts({ after, limit })).map(onWire) }
      },
    )

    await app.register(changeRoutes({ identity }))
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

const changeOf = (request: FastifyRequest<{ Params: { id: number } }>): AccountChange => ({
  accountId: request.params.id,
  actorId: accountOf(request).accountId,
})

function changedAccount(answer: ChangeAnswer): Account {
  if (answer.ok) return answer.account
  if (answer.code === 'unknown_account') throw new HttpError(404, 'not_found', 'User not found')
  throw new HttpError(409, 'conflict', 'This is the last admin: make another one first')
}

const onWire = ({ accountId, username, roles, isActive, createdAt }: Account) => ({
  user_id: accountId,
  username,
  roles: [...roles],
  is_active: isActive,
  created_at: createdAt.toISOString(),
})

// /auth/*: accounts, with the error body {"detail": …}.
import formbody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { parseForm, STRANGER_BYTES_MAX } from '../http/request/body.ts'
import { refusals } from '../http/errors/detail.ts'
import { SECURED } from '../http/routes/docs.ts'
import { accountOf, requireAccount } from '../http/auth/guard.ts'
import { requireAllowedOrigin } from '../http/auth/origins.ts'
import { HttpError, retryAfter, type FieldError } from '../http/errors/http-error.ts'
import { apiKeyRoutes } from './api-key-routes.ts'
import type { Identity, RegisterRefusal } from './identity.ts'
import type { LoggedIn, LoginAnswer } from './login.ts'
import type { VisitorAnswer } from './visitors.ts'
import { isRole, type Role } from './role.ts'

const SELF_GIVEN: readonly Role[] = ['CLIENT', 'WORKER_OWNER']
const NO_STORE = { 'cache-control': 'no-store' }
const tags = ['accounts']

// Identity checks the exact limits, for all doors alike; these only bound the input.
const Name = Type.String({ minLength: 1, maxLength: 1000 })
const Password = Type.String({ minLength: 1, maxLength: 2000 })

const Registration = Type.Object({
  username: Type.Optional(Name),
  email: Type.Optional(Name),
  password: Password,
  role: Type.String({
    description: 'CLIENT or WORKER_OWNER, in upper or lower case. Only an admin assigns other roles.',
  }),
})
const Registered = Type.Object({ user_id: Type.Integer(), username: Type.String(), role: Type.String() })

export const Login = Type.Object({
  username: Type.Optional(Name),
  email: Type.Optional(Name),
  password: Password,
})
const Token = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('bearer'),
  expires_in: Type.Integer({ description: 'Seconds.' }),
})

const PasswordChange = Type.Object(
  { current_password: Password, new_password: Password },
  { additionalProperties: false },
)

const LinkUse = Type.Object(
  { token: Type.String({ maxLength: 200, description: 'What follows # in the link.' }), new_password: Password },
  { additionalProperties: false },
)
const LinkUsed = Type.Object({ user_id: Type.Integer(), username: Type.String() })

export const Me = Type.Object({ user_id: Type.Integer(), username: Type.String(), roles: Type.Array(Type.String()) })

export const authRoutes =
  ({ identity }: { identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(apiKeyRoutes({ identity }))
    await app.register(loginRoute({ identity })) // the only route that accepts a form
    await app.register(passwordRoute({ identity }))
    await app.register(linkRoute({ identity }))
    const signedIn = requireAccount(identity)

    app.post(
      '/auth/register',
      {
        onRequest: requireAllowedOrigin,
        bodyLimit: STRANGER_BYTES_MAX,
        schema: {
          tags,
          summary: 'Create an account.',
          body: Registration,
          response: { 201: Registered, ...refusals(403, 409, 422, 429) },
        },
      },
      async (request, reply) => {
        const username = nameOf(request.body)
        const role = selfGivenRole(request.body.role)
        const { password } = request.body
        const answer = await identity.registerVisitor({ username, password, roles: [role], address: request.ip })
        if (!answer.ok) throw visitorError(answer)
        const { account } = answer
        return reply.code(201).send({ user_id: account.accountId, username: account.username, role })
      },
    )

    app.post(
      '/auth/logout',
      {
        onRequest: signedIn,
        schema: {
          tags,
          summary: 'Revoke the token.',
          security: SECURED,
          response: { 204: Type.Null(), ...refusals(400, 401) },
        },
      },
      async (request, reply) => {
        if (request.credential?.kind !== 'token')
          throw new HttpError(400, 'bad_request', 'An API key is revoked, not logged out')
        await identity.logout(request.credential.secret)
        return reply.code(204).send(null)
      },
    )

    app.get(
      '/auth/me',
      {
        onRequest: signedIn,
        schema: {
          tags,
          summary: 'The account of the credentials.',
          security: SECURED,
          response: { 200: Me, ...refusals(401) },
        },
      },
      async (request) => {
        const { accountId, username, roles } = accountOf(request)
        return { user_id: accountId, username, roles: [...roles] }
      },
    )
  }

const loginRoute =
  ({ identity }: { identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(formbody, { bodyLimit: STRANGER_BYTES_MAX, parser: parseForm })
    const schema = {
      tags,
      summary: 'Get a token (OAuth2 password flow, or JSON).',
      consumes: ['application/x-www-form-urlencoded', 'application/json'],
      body: Login,
      response: { 200: Token, ...refusals(401, 403, 422, 429) },
    }
    app.post(
      '/auth/login',
      { onRequest: requireAllowedOrigin, schema, bodyLimit: STRANGER_BYTES_MAX },
      async (request, reply) => {
        const { token, expiresInSec } = await logIn(identity, request)
        return reply.headers(NO_STORE).send({ access_token: token, token_type: 'bearer', expires_in: expiresInSec })
      },
    )
  }

const passwordRoute =
  ({ identity }: { identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags,
      summary: 'Change your password. Every other login of the account ends.',
      security: SECURED,
      body: PasswordChange,
      response: { 204: Type.Null(), ...refusals(401, 403, 422, 429) },
    }
    const onRequest = requireAccount(identity)
    app.post('/auth/password', { onRequest, schema, bodyLimit: STRANGER_BYTES_MAX }, async (request, reply) => {
      if (request.credential?.kind !== 'token') throw new HttpError(403, 'forbidden', 'Log in to change the password')
      const answer = await identity.changePassword({
        account: accountOf(request),
        token: request.credential.secret,
        currentPassword: request.body.current_password,
        newPassword: request.body.new_password,
        address: request.ip,
      })
      if (answer.ok) return reply.code(204).send(null)
      switch (answer.code) {
        case 'invalid_password':
          throw invalidField('new_password', 'must be 8 to 1024 characters')
        case 'rate_limited':
          throw tooManyLogins(answer.retryAfterSec)
        case 'invalid_credentials':
          throw new HttpError(403, 'forbidden', 'The current password is wrong')
      }
    })
  }

const linkRoute =
  ({ identity }: { identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags,
      summary: 'Set a password by a one-time link. Every login of the account ends.',
      body: LinkUse,
      response: { 200: LinkUsed, ...refusals(403, 422) },
    }
    const options = { onRequest: requireAllowedOrigin, schema, bodyLimit: STRANGER_BYTES_MAX }
    app.post('/auth/password-link', options, async (request) => {
      const { token, new_password: newPassword } = request.body
      const answer = await identity.setPasswordByLink({ token, newPassword, address: request.ip })
      if (answer.ok) return { user_id: answer.account.accountId, username: answer.account.username }
      if (answer.code === 'invalid_password') throw invalidField('new_password', 'must be 8 to 1024 characters')
      throw new HttpError(403, 'forbidden', 'The link has been used or replaced, or has expired: ask for a new one')
    })
  }

/** A refused login is thrown as its answer. */
export async function logIn(
  identity: Identity,
  { body, ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'> & { body: Static<typeof Login> },
): Promise<LoggedIn> {
  const userAgent = headers['user-agent'] ?? ''
  const answer = await identity.login({ username: nameOf(body), password: body.password, address: ip, userAgent })
  if (!answer.ok) throw loginError(answer)
  return answer
}

function loginError(answer: Exclude<LoginAnswer, { ok: true }>): HttpError {
  if (answer.code === 'rate_limited') return tooManyLogins(answer.retryAfterSec)
  const headers = { 'www-authenticate': 'Bearer' }
  return new HttpError(401, 'invalid_credentials', 'Invalid credentials', { headers })
}

export function visitorError(answer: Exclude<VisitorAnswer, { ok: true }>): HttpError {
  switch (answer.code) {
    case 'registration_closed':
      return new HttpError(403, 'registration_closed', 'Registration is closed')
    case 'rate_limited':
      return new HttpError(429, 'rate_limited', 'Too many registrations from this address', {
        headers: retryAfter(answer.retryAfterSec),
      })
    default:
      return registerError(answer.code)
  }
}

const tooManyLogins = (retryAfterSec: number): HttpError =>
  new HttpError(429, 'rate_limited', 'Too many login attempts', { headers: retryAfter(retryAfterSec) })

const invalidField = (name: string, message: string, rule = 'value_error'): HttpError => {
  const fields: FieldError[] = [{ path: ['body', name], message, rule }]
  return new HttpError(422, 'validation_failed', `body.${name} ${message}.`, { fields })
}

/** One of the two, or both if they are equal. */
function nameOf({ username, email }: { username?: string; email?: string }): string {
  if (username !== undefined && email !== undefined && username !== email) {
    throw invalidField('email', 'is not the username: give one of them')
  }
  const name = username ?? email
  if (name === undefined) throw invalidField('username', 'is required', 'required')
  return name
}

function selfGivenRole(text: string): Role {
  const role = text.toUpperCase()
  if (!isRole(role)) throw invalidField('role', `must be one of ${SELF_GIVEN.join(', ')}`, 'enum')
  if (!SELF_GIVEN.includes(role)) throw new HttpError(403, 'forbidden', 'Only an admin gives this role')
  return role
}

export function registerError(code: RegisterRefusal): HttpError {
  switch (code) {
    case 'invalid_username':
      return invalidField('username', 'must be 1 to 120 visible characters, with no space at either end')
    case 'invalid_password':
      return invalidField('password', 'must be 8 to 1024 characters')
    case 'duplicate_user':
      return new HttpError(409, 'duplicate_user', 'Username already exists')
  }
}

// /auth/api-keys: long-lived credentials for programs. A key is shown once. Creating one requires a login token: a leaked
// key must not be able to create another.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../http/errors/detail.ts'
import { SECURED } from '../http/routes/docs.ts'
import { accountOf, notSignedIn, requireAccount } from '../http/auth/guard.ts'
import { HttpError } from '../http/errors/http-error.ts'
import { LIVE_KEYS_MAX, type ApiKey } from './api-keys.ts'
import { systemClock } from '../clock.ts'
import type { Identity } from './identity.ts'
import { ROLES } from './role.ts'

const tags = ['accounts']
const DAY_MS = 86_400_000
const Key = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  scopes: Type.Union([Type.Array(Type.String()), Type.Null()], { description: 'Null: all roles of the account.' }),
  expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  created_at: Type.String({ format: 'date-time' }),
  last_used_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description: 'To the minute.' }),
})
const NewKey = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 120 }),
  scopes: Type.Optional(
    Type.Array(Type.Enum([...ROLES]), {
      minItems: 1,
      maxItems: ROLES.length,
      description: 'The roles that the key may use. Default: all roles of the account.',
    }),
  ),
  expires_in_days: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 3650, description: 'Default: the key does not expire.' }),
  ),
})
const Made = Type.Object({ ...Key.properties, api_key: Type.String({ description: 'Shown this once.' }) })
const Keys = Type.Object({ api_keys: Type.Array(Key) })
const KeyPath = Type.Object({ id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) })

export const apiKeyRoutes =
  ({ identity }: { identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = requireAccount(identity)
    const secured = { tags, security: SECURED }

    app.post(
      '/auth/api-keys',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'Create an API key.',
          body: NewKey,
          response: { 201: Made, ...refusals(401, 403, 409, 422) },
        },
      },
      async (request, reply) => {
        if (request.credential?.kind !== 'token') throw new HttpError(403, 'forbidden', 'Log in to make an API key')
        const { secret: token } = request.credential
        const { name, scopes = null, expires_in_days: days } = request.body
        const { accountId } = accountOf(request)
        const expiresAt = days === undefined ? null : new Date(systemClock.now() + days * DAY_MS)
        const answer = await identity.createApiKey(accountId, { token, name, scopes, expiresAt })
        if (!answer.ok) {
          if (answer.code === 'login_ended') throw notSignedIn()
          throw new HttpError(409, 'conflict', `At most ${LIVE_KEYS_MAX} API keys: revoke one first`)
        }
        reply.header('cache-control', 'no-store')
        return reply.code(201).send({ ...onWire(answer.apiKey), api_key: answer.secret })
      },
    )

    app.get(
      '/auth/api-keys',
      { onRequest, schema: { ...secured, summary: 'List my API keys.', response: { 200: Keys, ...refusals(401) } } },
      async (request) => ({ api_keys: (await identity.listApiKeys(accountOf(request).accountId)).map(onWire) }),
    )

    app.delete(
      '/auth/api-keys/:id',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'Revoke an API key.',
          params: KeyPath,
          response: { 204: Type.Null(), ...refusals(401, 404, 422) },
        },
      },
      async (request, reply) => {
        const revoked = await identity.revokeApiKey(accountOf(request).accountId, request.params.id)
        if (!revoked) throw new HttpError(404, 'not_found', 'API key not found')
        return reply.code(204).send(null)
      },
    )
  }

const onWire = ({ apiKeyId, name, scopes, createdAt, expiresAt, lastUsedAt }: ApiKey) => ({
  id: apiKeyId,
  name,
  scopes: scopes === null ? null : [...scopes],
  expires_at: expiresAt?.toISOString() ?? null,
  created_at: createdAt.toISOString(),
  last_used_at: lastUsedAt?.toISOString() ?? null,
})

// The secret that signs the callbacks of an account. It is derived from a secret of the door: none is stored, and no account can compute
// another's. A route of the door shows it to its account.
import { Type } from 'typebox'
import { accountOf } from '../http/auth/guard.ts'
import { refusals } from '../http/errors/detail.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SigningKey } from './signed-request.ts'

/** `derive`: a secret for a text, which only the holder of the door's secret can compute. */
export const accountKeys =
  (door: string, derive: (text: string) => string) =>
  (accountId: number): SigningKey => ({ keyId: `${door}-${accountId}`, secret: derive(`callback ${accountId}`) })

export const callbackSecretSchema = {
  summary: 'The secret that signs callbacks to me.',
  response: { 200: Type.Object({ key_id: Type.String(), secret: Type.String() }), ...refusals(401, 403) },
}

/** For a route with that schema. */
export const showCallbackSecret =
  (keyOf: (accountId: number) => SigningKey) => async (request: FastifyRequest, reply: FastifyReply) => {
    const { keyId, secret } = keyOf(accountOf(request).accountId)
    reply.header('cache-control', 'no-store')
    return { key_id: keyId, secret }
  }

// What every signed request meets, in the contract's order: header present → parsed → body read → nonce seen → key known →
// skew → signature. The nonce is burnt later, by the transaction that answers the request.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isSignedWith, parseAuthorization } from '@reeve/sdk/challenge'
import type { Database, Tx } from '../../core/database.ts'
import { parseJson } from '../../core/http/body.ts'
import { HttpProblem } from '../../core/http/problem.ts'
import { pathOf } from '../../core/http/words.ts'
import { problem } from './errors.ts'
import type { KeyRing } from './keys.ts'
import { burn, openSeeing, type Side } from './nonces.ts'

export interface Verified {
  nonce: string
  keyId: string
  body: Buffer
  nowMs: number
}

export interface Signed {
  verify(request: FastifyRequest): Promise<Verified>
  /** A refusal after the signature verified is an answer, and burns the nonce; a second one is a replay. */
  refuse(verified: Verified, error: HttpProblem, note?: (tx: Tx) => Promise<void>): Promise<never>
}

export interface SignedOptions {
  database: Database
  side: Side
  keys: KeyRing
  skewSec: number
}

export function openSigned({ database, side, keys, skewSec }: SignedOptions): Signed {
  const see = openSeeing(database, side)
  return {
    async verify(request) {
      const auth = authOf(request)
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const { seen, nowMs } = await see(auth.nonce)
      if (seen) throw problem('REPLAY_ATTACK')

      const known = keys.find(auth.keyId, nowMs)
      const isFresh = Math.abs(nowMs / 1000 - auth.ts) <= skewSec
      const parts = { method: request.method, path: pathOf(request.raw.url ?? ''), ...auth, body }
      const isSigned = known.some((key) => isSignedWith(key.secret, auth.sig, parts))
      if (!isFresh || !isSigned) throw problem('INVALID_SIGNATURE')
      return { nonce: auth.nonce, keyId: auth.keyId, body, nowMs }
    },
    async refuse({ nonce }, error, note) {
      const isFirst = await database.transaction(async (tx) => {
        const burnt = await burn(tx, side, [nonce])
        if (burnt.has(nonce)) await note?.(tx)
        return burnt.has(nonce)
      })
      throw isFirst ? error : problem('REPLAY_ATTACK')
    },
  }
}

/** Before the body is read; and the body is taken as it is, whatever its type: its bytes are what is signed. */
export function readSignedBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<Buffer>(
    '*',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, bytes: Buffer) => bytes,
  )
  scope.addHook('onRequest', async (request) => {
    authOf(request)
  })
}

function authOf(request: FastifyRequest) {
  const { authorization } = request.headers
  if (authorization === undefined) throw problem('MISSING_AUTH')
  const auth = parseAuthorization(authorization)
  if (auth === null) throw problem('INVALID_AUTH')
  return auth
}

export type Fields = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The body as an object of the version that both sides speak, or what is wrong with it. */
export function parseSignedBody(body: Buffer): Fields | HttpProblem {
  try {
    const fields = parseJson(body)
    if (!isObject(fields)) return problem('INVALID_JSON')
    return fields['api_version'] === 'v2.1' ? fields : problem('UNSUPPORTED_VERSION')
  } catch (error) {
    if (error instanceof HttpProblem) return error
    throw error
  }
}

/** Null or absent is null; anything but a string is undefined. */
export const optionalText = (value: unknown): string | null | undefined =>
  value === undefined || value === null ? null : typeof value === 'string' ? value : undefined

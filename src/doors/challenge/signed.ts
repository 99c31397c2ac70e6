// What every signed request meets, in the contract's order: header present → parsed → body read → nonce seen → key known →
// skew → signature. What the database must judge (the nonce, and the time by its clock) is judged by the statement that does
// the request's work, and burns the nonce: a request that passes costs one round trip. Where key or signature are wrong
// there is no work; the nonce is only looked up, because one that was seen is named first.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { bodyHash, isSignedWith, parseAuthorization, type AuthFields } from '@reeve/sdk/challenge'
import type { Database, Tx } from '../../core/database.ts'
import { parseJson } from '../../core/http/body.ts'
import { HttpProblem } from '../../core/http/problem.ts'
import { pathOf } from '../../core/http/words.ts'
import { problem } from './errors.ts'
import type { Key, KeyRing } from './keys.ts'
import { openBurning, openSeeing, type Nonce, type Side, type Verdict } from './nonces.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a signed request, once its header was parsed. */
    signedAs: AuthFields | null
  }
}

export interface Verified extends Nonce {
  body: Buffer
  bodyHash: string
}

// Hashing a body of this size and reading it as JSON in one go would hold the event loop for tens of milliseconds.
const LARGE_BYTES = 256 * 1024

export interface Signed {
  /** Key and signature. Whether nonce and time are good is the verdict of whoever does the work. */
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
  const burn = openBurning(side, skewSec)
  return {
    async verify(request) {
      const auth = authOf(request)
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const hash = bodyHash(body)
      const parts = { method: request.method, path: pathOf(request.raw.url ?? ''), ...auth, body: { hash } }
      const signers = keys.find(auth.keyId).filter((key) => isSignedWith(key.secret, auth.sig, parts))
      if (body.length > LARGE_BYTES) await nextTurn()
      if (signers.length > 0) {
        return { nonce: auth.nonce, ts: auth.ts, notAfterMs: lastOf(signers), body, bodyHash: hash }
      }
      throw verdictProblem((await see(auth.nonce)).seen ? 'seen' : 'stale')
    },
    async refuse(verified, error, note) {
      const verdict = await database.transaction(async (tx) => {
        const verdict = await burn(tx, verified)
        if (verdict === 'burnt') await note?.(tx)
        return verdict
      })
      throw verdict === 'burnt' ? error : verdictProblem(verdict)
    },
  }
}

export const verdictProblem = (verdict: Exclude<Verdict, 'burnt'>): HttpProblem =>
  problem(verdict === 'seen' ? 'REPLAY_ATTACK' : 'INVALID_SIGNATURE')

/** Several keys may share an id while it is rotated: the one that lasts longest counts. Null: no end. */
const lastOf = (keys: readonly Key[]): number | null =>
  keys.some((key) => key.notAfterMs === null) ? null : Math.max(...keys.map((key) => key.notAfterMs ?? 0))

/** Before the body is read; and the body is taken as it is, whatever its type: its bytes are what is signed. */
export function readSignedBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<Buffer>(
    '*',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, bytes: Buffer) => bytes,
  )
  scope.decorateRequest('signedAs', null)
  scope.addHook('onRequest', async (request) => {
    request.signedAs = authOf(request)
  })
}

function authOf(request: FastifyRequest): AuthFields {
  if (request.signedAs !== null) return request.signedAs
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

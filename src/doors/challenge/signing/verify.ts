// The checks of every signed request, in the order of clause 2.2: header present, header parsed, body read, nonce unused,
// key known, time within the window, signature. The database decides about nonce and time, by its own clock, in the
// statement that does the request's work and burns the nonce: a request that passes costs one round trip. When the key or
// the signature is wrong there is no such statement; the nonce is only looked up, because a replay is reported first.
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { bodyHash, isSignedWith, parseAuthorization, signedPath, type AuthFields } from '@reeve/sdk/challenge'
import { storableText, type Database, type Tx } from '../../../core/db/database.ts'
import { pathOf } from '../../../core/http/errors/error-format.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { parseBody } from '../../../core/http/request/body.ts'
import { isObject } from '../../../core/values/is-object.ts'
import { LARGE_BYTES } from '../../../core/values/json-pieces.ts'
import { challengeError } from '../errors.ts'
import type { HmacKey, KeyRing } from './keys.ts'
import { burnNonce, openNonceLookup, type Nonce, type NonceVerdict, type SigningSide } from './nonces.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The parsed Authorization header of a signed request. */
    signedAs: AuthFields | null
  }
}

export type JsonObject = Readonly<Record<string, unknown>>

export interface VerifiedRequest extends Nonce {
  /** The body as a JSON object, or the error that it is answered with. */
  fields: JsonObject | HttpError
  bodyHash: string
  bodyBytes: number
}

// What is stored is parsed at once when it is solved: 50,000 containers or 250,000 values take about 20 ms.
const SHAPE_MAX = { containers: 50_000, values: 250_000 }

export interface RequestVerifier {
  /** Checks key and signature. The statement that does the work checks nonce and time. */
  verify(request: FastifyRequest): Promise<VerifiedRequest>
  /** Answers with `error` and burns the nonce, because the signature verified. `note` runs in the same transaction. */
  refuse(verified: VerifiedRequest, error: HttpError, note?: (tx: Tx) => Promise<void>): Promise<never>
}

export interface VerifierOptions {
  database: Database
  side: SigningSide
  keys: KeyRing
  skewSec: number
}

export function openVerifier({ database, side, keys, skewSec }: VerifierOptions): RequestVerifier {
  const lookUp = openNonceLookup(database, side)
  return {
    async verify(request) {
      const auth = authOf(request)
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const hash = await hashOf(body)
      const path = pathOf(request.raw.url ?? '')
      const signed = [path, signedPath(path)].map((path) => ({ method: request.method, path, ...auth, body: { hash } }))
      const isSigner = ({ secret }: HmacKey) => signed.some((parts) => isSignedWith(secret, auth.sig, parts))
      const signers = keys.find(auth.keyId).filter(isSigner)
      if (signers.length === 0) throw nonceRefusal((await lookUp(auth.nonce)).seen ? 'seen' : 'stale')
      const fields = await fieldsOf(body)
      const { nonce, ts } = auth
      return { nonce, ts, notAfterMs: lastEndOf(signers), fields, bodyHash: hash, bodyBytes: body.length }
    },
    async refuse(verified, error, note) {
      const verdict = await database.transaction(async (tx) => {
        const verdict = await burnNonce(tx, { side, skewSec }, verified)
        if (verdict === 'burnt') await note?.(tx)
        return verdict
      })
      throw verdict === 'burnt' ? error : nonceRefusal(verdict)
    },
  }
}

export const nonceRefusal = (verdict: Exclude<NonceVerdict, 'burnt'>): HttpError =>
  challengeError(verdict === 'seen' ? 'REPLAY_ATTACK' : 'INVALID_SIGNATURE')

/** Several keys may share an id during a rotation: the one that is valid longest counts. Null: no end. */
const lastEndOf = (keys: readonly HmacKey[]): number | null =>
  keys.some((key) => key.notAfterMs === null) ? null : Math.max(...keys.map((key) => key.notAfterMs ?? 0))

/** Checks the header before the body is read, and keeps the body's bytes, whatever its type: they are what is signed. */
export function readSignedBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<Buffer>(
    '*',
    { parseAs: 'buffer' },
    (_request: FastifyRequest, bytes: Buffer, done: (error: null, bytes: Buffer) => void) => done(null, bytes),
  )
  scope.decorateRequest('signedAs', null)
  scope.addHook('onRequest', (request, _reply, done) => {
    request.signedAs = authOf(request)
    done()
  })
}

/** The schema of a signed body is documentation: the body stays bytes until its signature has verified. */
export const documentedOnly = () => () => true

function authOf(request: FastifyRequest): AuthFields {
  if (request.signedAs !== null) return request.signedAs
  const { authorization } = request.headers
  if (authorization === undefined) throw challengeError('MISSING_AUTH')
  const auth = parseAuthorization(authorization)
  if (auth === null) throw challengeError('INVALID_AUTH')
  return auth
}

/** A large body is hashed in pieces, each in its own turn of the event loop. */
async function hashOf(body: Buffer): Promise<string> {
  if (body.length <= LARGE_BYTES) return bodyHash(body)
  const hash = createHash('sha256')
  for (let start = 0; start < body.length; start += LARGE_BYTES) {
    await nextTurn()
    hash.update(body.subarray(start, start + LARGE_BYTES))
  }
  return hash.digest('hex')
}

async function fieldsOf(body: Buffer): Promise<JsonObject | HttpError> {
  try {
    const value = await parseBody(body, { passesOn: false, most: SHAPE_MAX })
    return isObject(value) ? value : challengeError('INVALID_JSON')
  } catch (error) {
    if (error instanceof HttpError) return challengeError('INVALID_JSON', error.message)
    throw error
  }
}

export const isSupportedVersion = (version: unknown): boolean => version === 'v2.1'

/** Null or absent is null; anything but a string is undefined. A longer text is cut. */
export function optionalText(value: unknown, charsMax = Infinity): string | null | undefined {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') return undefined
  return value.length <= charsMax ? value : storableText(value, charsMax)
}

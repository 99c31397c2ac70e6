// What every signed request meets, in the contract's order: header present → parsed → body read → nonce seen → key known →
// skew → signature. What the database must judge (the nonce, and the time by its clock) is judged by the statement that does
// the request's work, and burns the nonce: a request that passes costs one round trip. Where key or signature are wrong
// there is no work; the nonce is only looked up, because one that was seen is named first.
import { isObject } from '../../../core/is-object.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { bodyHash, isSignedWith, parseAuthorization, type AuthFields } from '@reeve/sdk/challenge'
import { Overloaded } from '../../../core/outcome.ts'
import type { Database, Tx } from '../../../core/db/database.ts'
import type { HttpError } from '../../../core/http/errors/http-error.ts'
import { pathOf } from '../../../core/http/errors/error-format.ts'
import { LARGE_BYTES } from '../../../core/db/params.ts'
import { readBody, type ParsedBody } from './read-body.ts'
import type { Threads } from '../bounded/threads.ts'
import { problem } from '../errors.ts'
import type { HmacKey, KeyRing } from './keys.ts'
import { openBurning, openSeeing, type Nonce, type SigningSide, type NonceVerdict } from './nonces.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a signed request, once its header was parsed. */
    signedAs: AuthFields | null
  }
}

export interface VerifiedRequest extends Nonce {
  /** The body as an object of the version that both sides speak, or what is wrong with it. */
  fields: Fields | HttpError
  bodyHash: string
  bodyBytes: number
}

const READ_MS_MAX = 10_000

export interface RequestVerifier {
  /** HmacKey and signature. Whether nonce and time are good is the verdict of whoever does the work. */
  verify(request: FastifyRequest): Promise<VerifiedRequest>
  /** A refusal after the signature verified is an answer, and burns the nonce; a second one is a replay. */
  refuse(verified: VerifiedRequest, error: HttpError, note?: (tx: Tx) => Promise<void>): Promise<never>
}

export interface VerifierOptions {
  database: Database
  side: SigningSide
  keys: KeyRing
  skewSec: number
  threads: Threads
}

export function openVerifier({ database, side, keys, skewSec, threads }: VerifierOptions): RequestVerifier {
  const see = openSeeing(database, side)
  const burn = openBurning(side, skewSec)
  return {
    async verify(request) {
      const auth = authOf(request)
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      if (body.length > LARGE_BYTES) await nextTurn() // it has just been put together
      const hash = bodyHash(body)
      const parts = { method: request.method, path: pathOf(request.raw.url ?? ''), ...auth, body: { hash } }
      const signers = keys.find(auth.keyId).filter((key) => isSignedWith(key.secret, auth.sig, parts))
      if (signers.length === 0) throw nonceRefusal((await see(auth.nonce)).seen ? 'seen' : 'stale')
      const fields = fieldsOf(await read(body, threads))
      const { nonce, ts } = auth
      return { nonce, ts, notAfterMs: lastOf(signers), fields, bodyHash: hash, bodyBytes: body.length }
    },
    async refuse(verified, error, note) {
      const verdict = await database.transaction(async (tx) => {
        const verdict = await burn(tx, verified)
        if (verdict === 'burnt') await note?.(tx)
        return verdict
      })
      throw verdict === 'burnt' ? error : nonceRefusal(verdict)
    },
  }
}

export const nonceRefusal = (verdict: Exclude<NonceVerdict, 'burnt'>): HttpError =>
  problem(verdict === 'seen' ? 'REPLAY_ATTACK' : 'INVALID_SIGNATURE')

/** Several keys may share an id while it is rotated: the one that lasts longest counts. Null: no end. */
const lastOf = (keys: readonly HmacKey[]): number | null =>
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

/** A large body would hold the event loop for tens of milliseconds, whatever is in it. */
async function read(body: Buffer, threads: Threads): Promise<ParsedBody> {
  if (body.length <= LARGE_BYTES) return readBody(body)
  const bytes = new Uint8Array(body) // of its own: it is given away
  const answer = await threads.run({ task: 'read', bytes }, { cpuMs: READ_MS_MAX })
  if (answer.ok && typeof answer.value === 'object') return answer.value
  if (!answer.ok && answer.code === 'TOO_LARGE') return { ok: false, message: answer.message }
  throw new Overloaded('A large body could not be read in time.')
}

function fieldsOf(body: ParsedBody): Fields | HttpError {
  if (!body.ok) return problem('INVALID_JSON', body.message)
  if (!isObject(body.value)) return problem('INVALID_JSON')
  return body.value['api_version'] === 'v2.1' ? body.value : problem('UNSUPPORTED_VERSION')
}

/** Null or absent is null; anything but a string is undefined. */
export const optionalText = (value: unknown): string | null | undefined =>
  value === undefined || value === null ? null : typeof value === 'string' ? value : undefined

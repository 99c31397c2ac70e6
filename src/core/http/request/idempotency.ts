// Idempotency-Key: the same key and body get the same job; the same key with another body is refused. All doors that create
// work accept it.
import { createHash } from 'node:crypto'
import { canonicalText, NotCanonical } from '@reeve/sdk'
import type { FastifyRequest } from 'fastify'
import type { Idempotency } from '../../ledger/submit/submit.ts'
import { jsonChunks, LARGE_BYTES } from '../../values/json-pieces.ts'
import { accountOf } from '../auth/guard.ts'
import { HttpError } from '../errors/http-error.ts'

const CANONICAL_BYTES_MAX = 128 * 1024
const KEY = /^[\x21-\x7e]{1,255}$/

/** The argument of `ledger.submit`, scoped to the door and the account. Null: no key, each request is new work. */
export function idempotencyOf(request: FastifyRequest, door: string): Idempotency | null {
  const key = request.headers['idempotency-key']
  if (key === undefined) return null
  if (typeof key !== 'string' || !KEY.test(key)) {
    const message = 'must be 1 to 255 visible ASCII characters'
    const fields = [{ path: ['header', 'Idempotency-Key'], rule: 'pattern', message }]
    throw new HttpError(400, 'validation_failed', `Idempotency-Key ${message}.`, { fields })
  }
  return { scope: `${door}:${accountOf(request).accountId}`, key, bodyHash: bodyHashOf(request) }
}

export const idempotencyConflict = (): HttpError =>
  new HttpError(422, 'idempotency_conflict', 'This Idempotency-Key was used with another body.')

/** Of the body as it was sent, so that `1.0` and `1` differ. */
function bodyHashOf({ rawBody, body }: FastifyRequest): string {
  return rawBody === null ? hashBody(body) : sha256(comparable(rawBody))
}

/** The order of keys and the spacing do not matter, but in a long body, where sorting them would hold the event loop. */
function comparable(rawBody: Buffer): string | Buffer {
  if (rawBody.length > CANONICAL_BYTES_MAX) return rawBody
  try {
    return canonicalText(rawBody.toString())
  } catch (error) {
    if (error instanceof NotCanonical) return rawBody // a number beyond a float's range, for example
    throw error
  }
}

const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')

/** The same for a value, in whatever order its keys came. */
export const hashBody = (body: unknown): string => sha256(canonical(body))

/** The same for a body that may be large: hashed in several turns of the event loop. */
export async function hashBodyInTurns(body: unknown, bytes: number): Promise<string> {
  if (bytes <= LARGE_BYTES) return hashBody(body)
  const hash = createHash('sha256')
  for await (const text of jsonChunks(body, true)) hash.update(text)
  return hash.digest('hex')
}

/** The depth is bounded by the parser. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`)
  return `{${members.join(',')}}`
}

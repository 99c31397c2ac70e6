// Idempotency-Key: the same key and body get the same job; the same key with another body is refused. All doors that create
// work accept it.
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Idempotency } from '../../ledger/submit/submit.ts'
import { accountOf } from '../auth/guard.ts'
import { HttpError } from '../errors/http-error.ts'

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
  return { scope: `${door}:${accountOf(request).accountId}`, key, bodyHash: hashBody(request.body) }
}

export const idempotencyConflict = (): HttpError =>
  new HttpError(422, 'idempotency_conflict', 'This Idempotency-Key was used with another body.')

/** The same for the same JSON, in whatever order its keys came and however it was spaced. */
export const hashBody = (body: unknown): string => createHash('sha256').update(canonical(body)).digest('hex')

/** The depth is bounded by the parser. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`)
  return `{${members.join(',')}}`
}

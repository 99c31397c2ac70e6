// Every refusal of this door. Those of a submitted result are listed in the order in which they are checked (docs/pool.md, section 5).
import { HttpError } from '../../core/http/errors/http-error.ts'
import type { HeldRefusal } from '../../core/ledger/refusal.ts'

const POOL_ERRORS = {
  worker_not_found: [404, 'Worker not found'],
  worker_name_taken: [409, 'Worker name already exists'],
  no_assignment: [404, 'No assignment available'],

  key_not_configured: [400, 'Worker public key is not configured'],
  key_encoding: [400, 'Invalid public key encoding'],
  key_length: [400, 'Invalid public key length'],
  signature_encoding: [400, 'Invalid signature encoding'],
  signature_length: [400, 'Invalid signature length'],
  signature_wrong: [400, 'Signature verification failed'],
  assignment_not_found: [404, 'Assignment not found'],
  nonce_wrong: [400, 'Invalid nonce'],
  already_submitted: [409, 'Assignment already submitted'],
  not_submittable: [409, 'Assignment is not in a submittable state'],
  output_hash_wrong: [400, 'Output hash does not match output'],
  concurrent: [409, 'Concurrent submission conflict'],

  job_not_found: [404, 'Job not found'],
  job_ended: [409, 'Job has already ended'],
  too_many_requirements: [409, 'Too many different requirements: a client has at most 1000'],
  canary_not_found: [404, 'Canary not found'],
  too_many_canaries: [409, 'Too many canaries: at most 10000 are kept'],
  not_banned: [409, 'Worker is not banned'],
} as const satisfies Record<string, readonly [status: number, detail: string]>

export type PoolCode = keyof typeof POOL_ERRORS

export const poolError = (code: PoolCode): HttpError => new HttpError(POOL_ERRORS[code][0], code, POOL_ERRORS[code][1])

/** The answer to a worker whose attempt the ledger refused. Whether its result is recorded already is checked before. */
export const HELD_REFUSALS = {
  unknown_job: 'assignment_not_found',
  stale_attempt: 'not_submittable',
  already_finished: 'not_submittable',
  not_in_expected_state: 'not_submittable',
  lease_lost_or_owner_mismatch: 'not_submittable',
} as const satisfies Record<HeldRefusal, PoolCode>

/** 422 for a body that passed its schema but is invalid. */
export function invalidField(path: readonly string[], message: string): HttpError {
  const fields = [{ path: ['body', ...path], message, rule: 'value_error' }]
  return new HttpError(422, 'validation_failed', `${path.join('.')} ${message}.`, { fields })
}

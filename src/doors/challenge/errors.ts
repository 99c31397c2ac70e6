// The error body of this door: {"error":{"code","message","request_id"}}. The core's codes appear in capitals.
import { Type } from 'typebox'
import { HttpError, type CoreCode, type ErrorReport } from '../../core/http/errors/http-error.ts'

const CHALLENGE_ERRORS = {
  MISSING_AUTH: [401, 'The Authorization header is missing.'],
  INVALID_AUTH: [401, 'The Authorization header is not RCS-HMAC-SHA256 keyId=…,ts=…,nonce=…,sig=….'],
  REPLAY_ATTACK: [401, 'This nonce has been used.'],
  INVALID_SIGNATURE: [401, 'The signature does not verify: check the key, the time and the canonical string.'],
  INVALID_JSON: [400, 'The body is not a JSON object.'],
  UNSUPPORTED_VERSION: [400, 'api_version must be "v2.1".'],
  MISSING_CHALLENGE_ID: [400, 'challenge_id is missing.'],
  INVALID_CHALLENGE_ID: [400, 'challenge_id must be a string of at most 255 characters.'],
  INVALID_CALLBACK_URL: [400, 'callback_url must be an https URL of at most 2048 characters with no credentials.'],
  INVALID_CONSTRAINTS: [400, 'constraints must be an object; timeout_ms and deadline_ts, if there, positive numbers.'],
  INVALID_CALLBACK: [
    400,
    'status must be a string; answer, solver_job_id, error_code, error_message strings if there.',
  ],
  INVALID_REQUEST_ID: [400, 'X-Request-ID must be 1 to 255 visible ASCII characters.'],
  CHALLENGE_ID_MISMATCH: [400, 'challenge_id differs from the one in the path.'],
  CHALLENGE_NOT_FOUND: [404, 'There is no such challenge.'],
  CHALLENGE_EXISTS: [409, 'There is another challenge with this challenge_id.'],
  INVALID_VALIDATION_RULE: [400, 'validation_rule is not one that this server can apply.'],
  INVALID_SOLVER_URL: [400, 'solver_url must be an https URL of at most 2000 characters with no credentials.'],
  MISSING_SOLVER_URL: [400, 'Name a solver_url: SOLVER_URL is not set.'],
  CALLBACK_HOST_NOT_SET: [409, 'PUBLIC_CALLBACK_HOST is not set: a Solver could not call back.'],
  DELIVERY_NOT_FOUND: [404, 'There is no such dead letter.'],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type ChallengeCode = keyof typeof CHALLENGE_ERRORS

export const challengeError = (code: ChallengeCode, message?: string): HttpError =>
  new HttpError(CHALLENGE_ERRORS[code][0], code, message ?? CHALLENGE_ERRORS[code][1])

/** Codes of the core that this door names differently. */
const CORE_CODES: Partial<Record<CoreCode, string>> = { too_large: 'PAYLOAD_TOO_LARGE' }
const wordOf = new Map<string, string>(Object.entries(CORE_CODES))

export const errorBody = ({ code, message, requestId }: ErrorReport): object => ({
  error: { code: wordOf.get(code) ?? code.toUpperCase(), message, request_id: requestId },
})

const ErrorBody = Type.Object({
  error: Type.Object({ code: Type.String(), message: Type.String(), request_id: Type.String() }),
})

/** Responses of a route, for the OpenAPI document. */
export const REFUSALS = { 400: ErrorBody, 401: ErrorBody, 413: ErrorBody }
export const OWNER_REFUSALS = { 400: ErrorBody, 401: ErrorBody, 403: ErrorBody, 404: ErrorBody }
export const CREATE_REFUSALS = { ...OWNER_REFUSALS, 409: ErrorBody, 413: ErrorBody, 422: ErrorBody }

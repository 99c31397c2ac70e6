// The body of POST /v1/jobs, and the checks that its schema cannot express.
import { memberTexts } from '@reeve/sdk'
import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { idempotencyOf } from '../../../core/http/request/idempotency.ts'
import { PRIORITY_DEFAULT, type Idempotency } from '../../../core/ledger/submit/submit.ts'
import { isCallableUrl } from '../../../core/outbound/callback-url.ts'
import { invalidField } from '../errors.ts'
import type { Requirements } from '../tasks/requirements.ts'
import { JsonObject, orNull } from '../wire.ts'

const PRIORITY_MAX = 1_000_000
const REPLICAS_MAX = 25
const TIMEOUT_SEC_MAX = 31_536_000
const SPECS_CHARS_MAX = 4096

export const RequirementsBody = Type.Object(
  {
    region: Type.Optional(orNull(Type.String({ minLength: 1, maxLength: 64 }))),
    specs: Type.Optional(orNull(JsonObject)),
  },
  { additionalProperties: false },
)
export const NewJobBody = Type.Object(
  {
    payload: JsonObject,
    priority: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: PRIORITY_MAX,
        description: `Higher is sooner. Default ${PRIORITY_DEFAULT}.`,
      }),
    ),
    requirements: Type.Optional(orNull(RequirementsBody)),
    replicas: Type.Optional(Type.Integer({ minimum: 1, maximum: REPLICAS_MAX, description: 'Default 1.' })),
    quorum: Type.Optional(
      Type.Integer({ minimum: 1, maximum: REPLICAS_MAX, description: 'Default: more than half of the replicas.' }),
    ),
    callback_url: Type.Optional(orNull(Type.String({ maxLength: 4096 }))),
    timeout_seconds: Type.Optional(orNull(Type.Integer({ minimum: 1, maximum: TIMEOUT_SEC_MAX }))),
    require_output_hash: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

export interface PoolJobRequest {
  clientId: number
  /** The payload, as JSON text. */
  job: string
  priority: number
  requirements: Requirements
  replicas: number
  quorum: number
  callbackUrl: string | null
  requiresHash: boolean
  /** Null: POOL_TIMEOUT_SECONDS. */
  timeoutSec: number | null
  idempotency: Idempotency | null
  traceId: string | null
}

export function jobRequestFrom(
  request: FastifyRequest<{ Body: Static<typeof NewJobBody> }>,
  allowInsecure: boolean,
): PoolJobRequest {
  const { body } = request
  const { callback_url: url = null } = body
  if (url !== null && !isCallableUrl(url, allowInsecure)) {
    throw invalidField(['callback_url'], 'must be an https URL of at most 2048 characters with no credentials')
  }
  const replicas = body.replicas ?? body.quorum ?? 1
  const quorum = body.quorum ?? Math.floor(replicas / 2) + 1
  if (quorum > replicas) throw invalidField(['quorum'], 'must be at most replicas')
  return {
    clientId: accountOf(request).accountId,
    job: memberTexts(String(request.rawBody)).get('payload') ?? 'null',
    priority: body.priority ?? PRIORITY_DEFAULT,
    requirements: requirementsFrom(body.requirements ?? null),
    replicas,
    quorum,
    callbackUrl: url,
    requiresHash: body.require_output_hash ?? false,
    timeoutSec: body.timeout_seconds ?? null,
    idempotency: idempotencyOf(request, 'pool'),
    traceId: request.traceId,
  }
}

export function requirementsFrom(body: Static<typeof RequirementsBody> | null): Requirements {
  const specs = body?.specs ?? null
  if (specs !== null && JSON.stringify(specs).length > SPECS_CHARS_MAX) {
    throw invalidField(['requirements', 'specs'], `must have at most ${SPECS_CHARS_MAX} characters`)
  }
  return { region: body?.region ?? null, specs }
}

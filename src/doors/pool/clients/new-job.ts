// The body of POST /v1/jobs, and the checks that its schema cannot express.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { itemTextsInTurns, memberTextsInTurns } from '@reeve/sdk'
import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { idempotencyOf } from '../../../core/http/request/idempotency.ts'
import { PRIORITY_DEFAULT, type Idempotency } from '../../../core/ledger/submit/submit.ts'
import { isCallableUrl } from '../../../core/outbound/callback-url.ts'
import { invalidField } from '../errors.ts'
import { AgreeRule } from '../quorum/agreement.ts'
import type { Requirements } from '../tasks/requirements.ts'
import { bodyTexts, JsonObject, orNull } from '../wire.ts'
import type { TraceContext } from '../../../core/traces/context.ts'

const PRIORITY_MAX = 1_000_000
const REPLICAS_MAX = 25
const TIMEOUT_SEC_MAX = 31_536_000
const SPECS_CHARS_MAX = 4096
const MAX_ATTEMPTS_MAX = 25
export const BATCH_MAX = 100

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
    max_attempts: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_ATTEMPTS_MAX,
        description: 'How many workers may answer `failed` before the job has failed. Default 1.',
      }),
    ),
    agree: Type.Optional(orNull(AgreeRule)),
  },
  { additionalProperties: false },
)

export const NewJobsBody = Type.Object(
  { jobs: Type.Array(NewJobBody, { minItems: 1, maxItems: BATCH_MAX }) },
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
  maxAttempts: number
  /** Null: equal output hashes. */
  agree: AgreeRule | null
  idempotency: Idempotency | null
  trace: TraceContext | null
}

type NewJobFields = Static<typeof NewJobBody>

export async function jobRequestFrom(
  request: FastifyRequest<{ Body: NewJobFields }>,
  allowInsecure: boolean,
): Promise<PoolJobRequest> {
  const job = jobFrom(request.body, await bodyTexts(request), { path: [], allowInsecure })
  const { trace } = request
  return { clientId: accountOf(request).accountId, idempotency: idempotencyOf(request, 'pool'), trace, ...job }
}

/** One key names the whole batch: each job has a key of its own, made of that and its place. */
export async function jobRequestsFrom(
  request: FastifyRequest<{ Body: Static<typeof NewJobsBody> }>,
  allowInsecure: boolean,
): Promise<PoolJobRequest[]> {
  const texts = await itemTextsInTurns((await bodyTexts(request)).get('jobs') ?? '[]', nextTurn)
  const idempotency = idempotencyOf(request, 'pool')
  const requests: PoolJobRequest[] = []
  for (const [index, job] of request.body.jobs.entries()) {
    const members = await memberTextsInTurns(texts[index] ?? '{}', nextTurn)
    requests.push({
      clientId: accountOf(request).accountId,
      idempotency: idempotency === null ? null : { ...idempotency, key: `${idempotency.key} ${index}` },
      trace: request.trace,
      ...jobFrom(job, members, { path: ['jobs', String(index)], allowInsecure }),
    })
  }
  return requests
}

function jobFrom(
  body: NewJobFields,
  texts: ReadonlyMap<string, string>,
  { path, allowInsecure }: { path: readonly string[]; allowInsecure: boolean },
) {
  const { callback_url: url = null } = body
  if (url !== null && !isCallableUrl(url, allowInsecure)) {
    const message = 'must be an https URL of at most 2048 characters with no credentials'
    throw invalidField([...path, 'callback_url'], message)
  }
  const replicas = body.replicas ?? body.quorum ?? 1
  const quorum = body.quorum ?? Math.floor(replicas / 2) + 1
  if (quorum > replicas) throw invalidField([...path, 'quorum'], 'must be at most replicas')
  return {
    job: texts.get('payload') ?? 'null',
    priority: body.priority ?? PRIORITY_DEFAULT,
    requirements: requirementsFrom(body.requirements ?? null, path),
    replicas,
    quorum,
    callbackUrl: url,
    requiresHash: body.require_output_hash ?? false,
    timeoutSec: body.timeout_seconds ?? null,
    maxAttempts: body.max_attempts ?? 1,
    agree: body.agree ?? null,
  }
}

export function requirementsFrom(
  body: Static<typeof RequirementsBody> | null,
  path: readonly string[] = [],
): Requirements {
  const specs = body?.specs ?? null
  if (specs !== null && JSON.stringify(specs).length > SPECS_CHARS_MAX) {
    throw invalidField([...path, 'requirements', 'specs'], `must have at most ${SPECS_CHARS_MAX} characters`)
  }
  return { region: body?.region ?? null, specs }
}

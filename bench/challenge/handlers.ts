// POST /solve with simpler handlers than the door's: the difference is the cost of each step.
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import { isSignedWith, parseAuthorization } from '@reeve/sdk/challenge'
import { parseBody } from '../../dist/core/http/request/body.js'
import type { Deps } from '../../dist/core/door.js'
import { newJobId } from '../../dist/core/random.js'
import { SECRET } from './settings.ts'

const SKEW_SEC = 300

// What the door stores of a request, in one row: of nonce, request and job.
const CREATE_TABLE = `
  create table inserted (
    job_id uuid primary key, kind text not null, priority integer not null, rank bigint not null, payload json not null,
    trace_id text, submitted_at timestamptz not null default clock_timestamp(), challenge_id text not null unique,
    callback_url text not null, nonce text not null unique)`
const INSERT = `
  insert into inserted (job_id, kind, priority, rank, payload, trace_id, challenge_id, callback_url, nonce)
  values ($1, 'solve', 5, (date_part('epoch', clock_timestamp()) * 1e6)::bigint, $2, $3, $4, $5, $6)`

type Handle = (request: FastifyRequest) => Promise<string>

export const handlers: Readonly<Record<'bare' | 'signature' | 'insert', (deps: Deps) => FastifyPluginAsync>> = {
  bare: () => route(async () => async () => 'c'),
  signature: () => route(async () => async (request) => signedBy(request)),
  insert: ({ database }) =>
    route(async () => {
      await database.query(CREATE_TABLE)
      return async (request) => {
        const body = await parseBody(bodyOf(request), { passesOn: false })
        const fields: Record<string, unknown> = typeof body === 'object' && body !== null ? { ...body } : {}
        const id = String(fields['challenge_id'])
        const nonce = parseAuthorization(request.headers.authorization ?? '')?.nonce
        const { callback_url: url } = fields
        await database.hot.query(INSERT, [newJobId(), JSON.stringify(body), request.trace.traceId, id, url, nonce])
        return id
      }
    }),
}

const route =
  (open: () => Promise<Handle>): FastifyPluginAsync =>
  async (app: FastifyInstance) => {
    const handle = await open()
    app.removeAllContentTypeParsers()
    app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, async (_: FastifyRequest, bytes: Buffer) => bytes)
    app.post('/solve', async (request, reply) => {
      const id = await handle(request)
      return reply.code(202).send({ message: 'Challenge accepted', solver_job_id: `solver_job_${id}` })
    })
  }

const bodyOf = ({ body }: FastifyRequest): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0))

async function signedBy(request: FastifyRequest): Promise<string> {
  const auth = parseAuthorization(request.headers.authorization ?? '')
  const isFresh = auth !== null && Math.abs(Date.now() / 1000 - auth.ts) <= SKEW_SEC
  const parts = { method: 'POST', path: request.url, body: bodyOf(request) }
  if (!isFresh || !isSignedWith(SECRET, auth.sig, { ...parts, ts: auth.ts, nonce: auth.nonce })) throw new Error('401')
  return auth.keyId
}

// Reading receipts: the server's key for everyone, a job's receipts for its client, a worker's for its owner, all for admins.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { FIRST_PREVIOUS, signHead } from '@reeve/sdk/pool'
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { accountOf, requireRole } from '../../../core/http/auth/guard.ts'
import type { Identity } from '../../../core/identity/identity.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { poolError } from '../errors.ts'
import { JobPath, ownJob } from '../clients/job-view.ts'
import { documented, Id, JsonObject, RawJson, sendJson } from '../wire.ts'
import type { WorkerStore } from '../workers/worker-store.ts'
import type { ServerKeys } from './server-keys.ts'

const LAST = `select number, hash from pool_receipts order by number desc limit 1`

const PAGE = `
  select body, hash, signature from pool_receipts where number > $1 order by number limit $2`

// By assignments, which have an index by job; results have none for all of a job's.
const OF_JOB = `
  select p.body, p.hash, p.signature
    from pool_assignments a join pool_receipts p on p.assignment_id = a.assignment_id
   where a.job_id = $1 or a.quorum_id = $1 order by p.number`

const OF_WORKER = `
  select p.body, p.hash, p.signature
    from pool_results r join pool_receipts p on p.assignment_id = r.assignment_id
   where r.worker_id = $1 and p.number > $2 order by p.number limit $3`

const LIMIT_DEFAULT = 100

const Key = Type.Object({ algorithm: Type.Literal('Ed25519'), key_id: Type.String(), public_key: Type.String() })
const Head = Type.Object({
  size: Type.Integer({ description: 'The number of the last receipt.' }),
  hash: Type.String({ description: 'Its hash.' }),
  key_id: Type.String(),
  signature: Type.String(),
})
const Receipts = Type.Object({
  receipts: Type.Array(Type.Object({ receipt: JsonObject, hash: Type.String(), signature: Type.String() })),
})
const After = Type.Object({
  after: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Only numbers above.' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: `Default ${LIMIT_DEFAULT}.` })),
})

interface ReceiptRow {
  body: string
  hash: string
  signature: string
}

const shown = (rows: readonly ReceiptRow[]) => ({
  receipts: rows.map(({ body, hash, signature }) => ({ receipt: new RawJson(body), hash, signature })),
})

export interface ReceiptRouteDeps {
  identity: Identity
  database: Database
  ledger: Ledger
  keys: ServerKeys
  workers: WorkerStore
}

export const receiptRoutes =
  (deps: ReceiptRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { database, keys } = deps
    app.get(
      '/v1/receipts/key',
      { schema: { tags: ['pool'], summary: 'The key that receipts are signed with.', response: { 200: Key } } },
      async () => {
        const { x } = keys.receipts
        return { algorithm: 'Ed25519' as const, key_id: x, public_key: x }
      },
    )

    app.get(
      '/v1/receipts/head',
      { schema: { tags: ['pool'], summary: 'The signed head of the chain of receipts.', response: { 200: Head } } },
      async () => {
        const [last] = await database.query<{ number: string; hash: string }>(LAST)
        return signHead(keys.receipts, { size: Number(last?.number ?? 0), hash: last?.hash ?? FIRST_PREVIOUS })
      },
    )
    await app.register(listRoutes(deps))
  }

const listRoutes =
  ({ identity, database, ledger, workers }: ReceiptRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/v1/jobs/:id/receipts',
      {
        onRequest: requireRole(identity, 'CLIENT'),
        schema: {
          ...documented,
          summary: 'The receipts of a job of mine: one for each result that was accepted for it.',
          params: JobPath,
          response: { 200: Receipts, ...refusals(401, 403, 404) },
        },
      },
      async (request, reply) => {
        const { job } = await ownJob(ledger, request)
        return sendJson(reply, shown(await database.query<ReceiptRow>(OF_JOB, [job.jobId])))
      },
    )

    app.get(
      '/workers/:id/receipts',
      {
        onRequest: requireRole(identity, 'WORKER_OWNER'),
        schema: {
          ...documented,
          summary: 'The receipts of a worker of mine.',
          params: Type.Object({ id: Id }),
          querystring: After,
          response: { 200: Receipts, ...refusals(401, 403, 404, 422) },
        },
      },
      async (request, reply) => {
        const { id } = request.params
        if ((await workers.find(id, accountOf(request).accountId)) === null) throw poolError('worker_not_found')
        const { after = 0, limit = LIMIT_DEFAULT } = request.query
        return sendJson(reply, shown(await database.query<ReceiptRow>(OF_WORKER, [id, after, limit])))
      },
    )

    app.get(
      '/admin/pool/receipts',
      {
        onRequest: requireRole(identity, 'ADMIN'),
        schema: {
          ...documented,
          summary: 'The chain of receipts, in its order.',
          querystring: After,
          response: { 200: Receipts, ...refusals(401, 403, 422) },
        },
      },
      async (request, reply) => {
        const { after = 0, limit = LIMIT_DEFAULT } = request.query
        return sendJson(reply, shown(await database.query<ReceiptRow>(PAGE, [after, limit])))
      },
    )
  }

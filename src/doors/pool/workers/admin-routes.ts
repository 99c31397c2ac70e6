// For admins: the standing of workers, bans, and counts of tasks and workers. /admin/pool/workers*, /admin/pool/status.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import type { CanaryStock } from '../canaries/canary-stock.ts'
import type { TaskMatcher } from '../matching/matchmaker.ts'
import type { Bans } from './bans.ts'
import { poolError } from '../errors.ts'
import { countTasks, countWorkers } from '../metrics.ts'
import { documented, Id, orNull } from '../wire.ts'
import { adminsView, auditOf, findForAdmins, listStandings, standingOf, type AdminStandingRow } from './standing.ts'

const LIMIT_DEFAULT = 100

const Moment = orNull(Type.String())
const WorkerStanding = Type.Object({
  worker_id: Type.Integer(),
  name: Type.String(),
  owner_user_id: Type.Integer(),
  owner: orNull(Type.String()),
  status: Type.String({ description: 'online, offline, banned or removed.' }),
  paused: Type.Boolean(),
  standing: Type.String({ description: 'probation, trusted or banned.' }),
  reputation: Type.Number(),
  completed: Type.Integer(),
  failed: Type.Integer(),
  lost: Type.Integer({ description: 'Leases that it let expire.' }),
  canaries_passed: Type.Integer(),
  canaries_wrong: Type.Integer(),
  agreed: Type.Integer(),
  disagreed: Type.Integer(),
  proven: Type.Integer({ description: 'Canaries passed since others last disagreed with it.' }),
  banned_at: Moment,
  ban_reason: Moment,
  registered_at: Type.String(),
  last_seen_at: Moment,
})
const Page = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: `Default ${LIMIT_DEFAULT}.` })),
  banned: Type.Optional(Type.Boolean()),
})
const WorkerPath = Type.Object({ id: Id })
const Reason = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 500 }) }, { additionalProperties: false })
const OptionalReason = Type.Optional(
  Type.Object(
    { reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })) },
    { additionalProperties: false },
  ),
)
const Audit = Type.Array(
  Type.Object({
    action: Type.String(),
    reason: Moment,
    actor_id: orNull(Type.Integer()),
    actor: Moment,
    created_at: Type.String(),
  }),
)
const Counted = Type.Array(Type.Object({ state: Type.String(), count: Type.Integer() }))
const Status = Type.Object({ workers: Counted, tasks: Counted, polls_waiting: Type.Integer() })

export interface WorkerAdminDeps {
  database: Database
  canaries: CanaryStock
  matchmaker: TaskMatcher
  leaseSec: number
  probationCanaries: number
}

export const workerAdminRoutes =
  ({ database, canaries, matchmaker, leaseSec, probationCanaries }: WorkerAdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const shown = (row: AdminStandingRow) => adminsView(row, standingOf(row, canaries, probationCanaries))

    app.get(
      '/admin/pool/status',
      {
        schema: {
          ...documented,
          summary: 'Counts of workers, tasks and waiting polls.',
          response: { 200: Status, ...refusals(401, 403) },
        },
      },
      async () => ({
        workers: await countWorkers(database, leaseSec),
        tasks: await countTasks(database),
        polls_waiting: matchmaker.size(),
      }),
    )

    app.get(
      '/admin/pool/workers',
      {
        schema: {
          ...documented,
          summary: 'All workers with their standing.',
          querystring: Page,
          response: { 200: Type.Object({ workers: Type.Array(WorkerStanding) }), ...refusals(401, 403, 422) },
        },
      },
      async (request) => {
        const { after = 0, limit = LIMIT_DEFAULT, banned = null } = request.query
        await canaries.ready()
        return { workers: (await listStandings(database, { after, limit, banned, leaseSec })).map(shown) }
      },
    )

    app.get(
      '/admin/pool/workers/:id',
      {
        schema: {
          ...documented,
          summary: 'One worker with its standing and its audit trail.',
          params: WorkerPath,
          response: { 200: Type.Object({ ...WorkerStanding.properties, audit: Audit }), ...refusals(401, 403, 404) },
        },
      },
      async (request) => {
        await canaries.ready()
        const row = await findForAdmins(database, request.params.id, leaseSec)
        if (row === null) throw poolError('worker_not_found')
        return { ...shown(row), audit: await auditOf(database, request.params.id) }
      },
    )
  }

export const banRoutes =
  (bans: Bans): FastifyPluginAsyncTypebox =>
  async (app) => {
    const Changed = Type.Object({ worker_id: Type.Integer(), status: Type.String() })
    app.post(
      '/admin/pool/workers/:id/ban',
      {
        schema: {
          ...documented,
          summary: 'Ban a worker: its assignment goes to another, and its votes no longer count.',
          params: WorkerPath,
          body: Reason,
          response: { 200: Changed, ...refusals(401, 403, 404, 422) },
        },
      },
      async (request) => {
        const { id } = request.params
        const answer = await bans.ban(id, {
          actorId: accountOf(request).accountId,
          reason: request.body.reason,
        })
        if (!answer.ok) throw poolError(answer.code)
        return { worker_id: id, status: 'banned' }
      },
    )

    app.post(
      '/admin/pool/workers/:id/unban',
      {
        schema: {
          ...documented,
          summary: 'Lift a ban. The worker starts over on probation.',
          params: WorkerPath,
          body: OptionalReason,
          response: { 200: Changed, ...refusals(401, 403, 404, 409, 422) },
        },
      },
      async (request) => {
        const { id } = request.params
        const reason = request.body?.reason ?? null
        const answer = await bans.unban(id, { actorId: accountOf(request).accountId, reason })
        if (!answer.ok) throw poolError(answer.code)
        return { worker_id: id, status: 'offline' }
      },
    )
  }

// For admins: the standing of workers, bans, and how much is under way. /admin/pool/workers*, /admin/pool/status.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf, requireRole } from '../../../core/http/auth/guard.ts'
import type { Coordinator } from '../pool.ts'
import { problem } from '../errors.ts'
import { countTasks, countWorkers } from '../metrics.ts'
import { Id, orNull } from '../schemas.ts'
import { adminsView, auditOf, findStanding, listStandings, standingOf, type StandingRow } from './standing.ts'

const LIMIT_DEFAULT = 100
const documented = { tags: ['pool'], security: SECURED }

const Moment = orNull(Type.String())
const WorkerStanding = Type.Object({
  worker_id: Type.Integer(),
  name: Type.String(),
  owner_user_id: Type.Integer(),
  standing: Type.String({ description: 'probation, trusted or banned.' }),
  reputation: Type.Number(),
  completed: Type.Integer(),
  failed: Type.Integer(),
  lost: Type.Integer({ description: 'Leases that it let run out.' }),
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
  Type.Object({ action: Type.String(), reason: Moment, actor_id: orNull(Type.Integer()), created_at: Type.String() }),
)
const Counted = Type.Array(Type.Object({ state: Type.String(), count: Type.Integer() }))
const Status = Type.Object({ workers: Counted, tasks: Counted, polls_waiting: Type.Integer() })

export interface AdminDeps extends Deps {
  coordinator: Coordinator
  probationCanaries: number
}

export const adminRoutes =
  (deps: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { database, coordinator, probationCanaries } = deps
    app.addHook('onRequest', requireRole(deps.identity, 'ADMIN'))
    const shown = (row: StandingRow) => adminsView(row, standingOf(row, coordinator.canaries, probationCanaries))

    app.get(
      '/admin/pool/status',
      {
        schema: { ...documented, summary: 'How much is under way.', response: { 200: Status, ...refusals(401, 403) } },
      },
      async () => ({
        workers: await countWorkers(database, coordinator.leaseSec),
        tasks: await countTasks(database),
        polls_waiting: coordinator.matchmaker.size(),
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
        await coordinator.canaries.ready()
        return { workers: (await listStandings(database, { after, limit, banned })).map(shown) }
      },
    )

    app.get(
      '/admin/pool/workers/:id',
      {
        schema: {
          ...documented,
          summary: 'One worker with its standing and what was done about it.',
          params: WorkerPath,
          response: { 200: Type.Object({ ...WorkerStanding.properties, audit: Audit }), ...refusals(401, 403, 404) },
        },
      },
      async (request) => {
        await coordinator.canaries.ready()
        const row = await findStanding(database, request.params.id, null)
        if (row === null) throw problem('worker_not_found')
        return { ...shown(row), audit: await auditOf(database, request.params.id) }
      },
    )
    await app.register(banRoutes(deps))
  }

const banRoutes =
  ({ coordinator }: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const Changed = Type.Object({ worker_id: Type.Integer(), status: Type.String() })
    app.post(
      '/admin/pool/workers/:id/ban',
      {
        schema: {
          ...documented,
          summary: 'Ban a worker: what it holds goes to others, and its word counts no more.',
          params: WorkerPath,
          body: Reason,
          response: { 200: Changed, ...refusals(401, 403, 404, 422) },
        },
      },
      async (request) => {
        const { id } = request.params
        const answer = await coordinator.bans.ban(id, {
          actorId: accountOf(request).accountId,
          reason: request.body.reason,
        })
        if (!answer.ok) throw problem(answer.code)
        return { worker_id: id, status: 'banned' }
      },
    )

    app.post(
      '/admin/pool/workers/:id/unban',
      {
        schema: {
          ...documented,
          summary: 'Let a banned worker begin anew, on probation.',
          params: WorkerPath,
          body: OptionalReason,
          response: { 200: Changed, ...refusals(401, 403, 404, 409, 422) },
        },
      },
      async (request) => {
        const { id } = request.params
        const reason = request.body?.reason ?? null
        const answer = await coordinator.bans.unban(id, { actorId: accountOf(request).accountId, reason })
        if (!answer.ok) throw problem(answer.code)
        return { worker_id: id, status: 'offline' }
      },
    )
  }

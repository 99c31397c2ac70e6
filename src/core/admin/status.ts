// /admin/status: version, doors, storage and job counts.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../http/errors/detail.ts'
import { SECURED } from '../http/routes/docs.ts'
import { requireRole } from '../http/auth/guard.ts'
import { socketsOf } from '../http/routes/metrics.ts'
import type { AdminDeps } from './admin-routes.ts'
import { diskOf, type Disk } from './disk.ts'
import { JobState } from './job-schema.ts'

const Status = Type.Object({
  version: Type.String(),
  node: Type.String(),
  uptime_sec: Type.Integer(),
  doors: Type.Array(Type.String()),
  kinds: Type.Array(Type.String()),
  storage: Type.Object({ database: Type.String(), feed: Type.String(), files: Type.String() }),
  disk: Type.Union([Type.Object({ free_bytes: Type.Integer(), total_bytes: Type.Integer() }), Type.Null()], {
    description: 'With the data folder, or the working folder where there is none. Null: unknown.',
  }),
  websockets: Type.Integer(),
  jobs: Type.Array(Type.Object({ kind: Type.String(), state: JobState, count: Type.Integer() }), {
    description: 'Without finished jobs.',
  }),
})

export const statusRoute =
  (deps: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { identity, ledger, clock, about, doors, kinds, config } = deps
    const schema = {
      tags: ['admin'],
      security: SECURED,
      summary: 'Version, doors, storage and job counts.',
      response: { 200: Status, ...refusals(401, 403) },
    }
    app.get('/admin/status', { onRequest: requireRole(identity, 'ADMIN'), schema }, async () => ({
      version: deps.version,
      node: process.version,
      uptime_sec: Math.floor((clock.now() - deps.startedAt) / 1000),
      doors: doors.map(({ door }) => door.name),
      kinds: kinds.all().map(({ name }) => name),
      storage: about,
      disk: diskOnWire(await diskOf(config.REEVE_DATA_DIR)),
      websockets: socketsOf(app),
      jobs: await ledger.count(),
    }))
  }

const diskOnWire = (disk: Disk | null) =>
  disk === null ? null : { free_bytes: disk.freeBytes, total_bytes: disk.totalBytes }

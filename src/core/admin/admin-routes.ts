// /admin/*: administration of the deployment. Every route requires the ADMIN role.
import type { FastifyPluginAsync } from 'fastify'
import type { HttpDeps } from '../http/server.ts'
import { auditRoute } from './audit.ts'
import { deliveryRoutes } from './deliveries.ts'
import { eventRoutes } from './events.ts'
import { jobRoutes } from './jobs.ts'
import { settingsRoute } from './settings.ts'
import { statusRoute } from './status.ts'
import { deleteUserRoute } from './users/delete-user.ts'
import { importUsersRoute } from './users/import-users.ts'
import { passwordLinkRoute } from './users/password-link.ts'
import { userRoutes } from './users/users.ts'

export interface AdminDeps extends Pick<
  HttpDeps,
  'config' | 'deliveries' | 'doorSettings' | 'identity' | 'ledger' | 'events' | 'kinds' | 'doors' | 'about' | 'clock'
> {
  version: string
  /** Milliseconds since 1970. */
  startedAt: number
}

export const adminRoutes =
  (deps: AdminDeps): FastifyPluginAsync =>
  async (app) => {
    await app.register(userRoutes(deps))
    await app.register(passwordLinkRoute(deps))
    await app.register(deleteUserRoute(deps))
    await app.register(importUsersRoute(deps))
    await app.register(jobRoutes(deps))
    await app.register(statusRoute(deps))
    await app.register(eventRoutes(deps))
    await app.register(deliveryRoutes(deps))
    await app.register(auditRoute(deps))
    await app.register(settingsRoute(deps))
  }

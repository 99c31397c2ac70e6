// Every page of the console. Each folder has its routes, which load their pages when they are first opened.
import { createRouter } from '@tanstack/react-router'
import { accountRoutes } from './account/routes.ts'
import { adminRoutes } from './admin/routes.ts'
import { arenaRoutes } from './arena/routes.ts'
import { challengesRoutes } from './challenges/routes.ts'
import { deskRoutes } from './desk/routes.ts'
import { docsRoutes } from './docs/routes.ts'
import { PageError, PageNotFound } from './failures.tsx'
import { frontRoutes } from './front/routes.ts'
import { jobsRoutes } from './jobs/routes.ts'
import { judgeRoutes } from './judge/routes.ts'
import { overviewRoutes } from './overview/routes.ts'
import { poolRoutes } from './pool/routes.ts'
import { rootRoute } from './root.ts'

const routeTree = rootRoute.addChildren([
  ...frontRoutes,
  ...overviewRoutes,
  ...jobsRoutes,
  ...judgeRoutes,
  ...poolRoutes,
  ...challengesRoutes,
  ...deskRoutes,
  ...arenaRoutes,
  ...adminRoutes,
  ...accountRoutes,
  ...docsRoutes,
])

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  defaultErrorComponent: PageError,
  defaultNotFoundComponent: PageNotFound,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

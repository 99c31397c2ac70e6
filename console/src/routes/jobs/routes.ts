import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

export const jobsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/jobs',
  staticData: { access: ['ADMIN'] },
  /** The words of the search, as they are typed. */
  validateSearch: (search): { q?: string } =>
    typeof search['q'] === 'string' && search['q'] !== '' ? { q: search['q'] } : {},
  component: lazyRouteComponent(() => import('./jobs-page.tsx'), 'JobsPage'),
})

export const jobRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/jobs/$jobId',
  staticData: { access: ['ADMIN'] },
  component: lazyRouteComponent(() => import('./job-page.tsx'), 'JobPage'),
})

export const jobsRoutes = [jobsRoute, jobRoute] as const

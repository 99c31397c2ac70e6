import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

// Owners see their own workers; an admin who owns none sees all.
const workersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/pool',
  staticData: { access: ['WORKER_OWNER', 'ADMIN'] },
  component: lazyRouteComponent(() => import('./pool-page.tsx'), 'PoolPage'),
})

export const allWorkersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/pool/all',
  staticData: { access: ['ADMIN'] },
  validateSearch: (search): { banned?: 'yes'; offline?: 'yes' } => ({
    ...(search['banned'] === 'yes' ? { banned: 'yes' } : {}),
    ...(search['offline'] === 'yes' ? { offline: 'yes' } : {}),
  }),
  component: lazyRouteComponent(() => import('./admin/all-workers-page.tsx'), 'AllWorkersPage'),
})

export const standingRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/pool/all/$workerId',
  staticData: { access: ['ADMIN'] },
  component: lazyRouteComponent(() => import('./admin/standing-page.tsx'), 'StandingPage'),
})

const canariesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/pool/canaries',
  staticData: { access: ['ADMIN'] },
  component: lazyRouteComponent(() => import('./admin/canaries-page.tsx'), 'CanariesPage'),
})

export const workerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/pool/workers/$workerId',
  staticData: { access: ['WORKER_OWNER'] },
  component: lazyRouteComponent(() => import('./workers/worker-page.tsx'), 'WorkerPage'),
})

const poolJobsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/pool/jobs',
  staticData: { access: ['CLIENT'] },
  component: lazyRouteComponent(() => import('./jobs/pool-jobs-page.tsx'), 'PoolJobsPage'),
})

export const poolJobRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/pool/jobs/$jobId',
  staticData: { access: ['CLIENT'] },
  component: lazyRouteComponent(() => import('./jobs/pool-job-page.tsx'), 'PoolJobPage'),
})

export const poolRoutes = [
  workersRoute,
  allWorkersRoute,
  standingRoute,
  canariesRoute,
  workerRoute,
  poolJobsRoute,
  poolJobRoute,
] as const

import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

const workersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/pool',
  staticData: { access: ['WORKER_OWNER'] },
  component: lazyRouteComponent(() => import('./workers/workers-page.tsx'), 'WorkersPage'),
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

export const poolRoutes = [workersRoute, workerRoute, poolJobsRoute, poolJobRoute] as const

import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

const overviewRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/overview',
  staticData: { access: ['ADMIN'] },
  component: lazyRouteComponent(() => import('./overview-page.tsx'), 'OverviewPage'),
})

export const overviewRoutes = [overviewRoute] as const

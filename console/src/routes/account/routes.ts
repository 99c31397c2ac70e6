import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/account',
  staticData: { access: 'account' },
  component: lazyRouteComponent(() => import('./own-account-page.tsx'), 'OwnAccountPage'),
})

export const accountRoutes = [accountRoute] as const

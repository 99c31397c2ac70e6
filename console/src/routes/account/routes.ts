import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/account',
  staticData: { access: 'account' },
  component: lazyRouteComponent(() => import('./own-account-page.tsx'), 'OwnAccountPage'),
})

const passwordLinkRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/password-link',
  staticData: { access: 'anyone' },
  component: lazyRouteComponent(() => import('./password-link-page.tsx'), 'PasswordLinkPage'),
})

export const accountRoutes = [accountRoute, passwordLinkRoute] as const

import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

const accountsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/admin',
  staticData: { access: ['ADMIN'] },
  /** How the names begin. */
  validateSearch: (search): { name?: string } => {
    const name = textOf(search['name'])
    return name === '' ? {} : { name }
  },
  component: lazyRouteComponent(() => import('./accounts/accounts-page.tsx'), 'AccountsPage'),
})

const auditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/admin/audit',
  staticData: { access: ['ADMIN'] },
  validateSearch: (search): { account?: number } => {
    const account = Number(textOf(search['account']))
    return Number.isSafeInteger(account) && account > 0 ? { account } : {}
  },
  component: lazyRouteComponent(() => import('./audit/audit-page.tsx'), 'AuditPage'),
})

const healthRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/admin/health',
  staticData: { access: ['ADMIN'] },
  component: lazyRouteComponent(() => import('./health/health-page.tsx'), 'HealthPage'),
})

/** The router reads what looks like a number as one. */
const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

export const adminRoutes = [accountsRoute, auditRoute, healthRoute] as const

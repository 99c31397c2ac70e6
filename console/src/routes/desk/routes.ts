import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

export interface DeskSearch {
  /** The words of the list's search. */
  q?: string
  /** The task that is open. */
  task?: string
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

export const deskRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/desk',
  staticData: { access: ['OPERATOR', 'ADMIN'] },
  validateSearch: (search): DeskSearch => {
    const [q, task] = [text(search['q']), text(search['task'])]
    return { ...(q === undefined ? {} : { q }), ...(task === undefined ? {} : { task }) }
  },
  component: lazyRouteComponent(() => import('./desk-page.tsx'), 'DeskPage'),
})

const historyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/desk/history',
  staticData: { access: ['OPERATOR', 'ADMIN'] },
  component: lazyRouteComponent(() => import('./history/history-page.tsx'), 'HistoryPage'),
})

const superviseRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/desk/supervise',
  staticData: { access: ['ADMIN'] },
  component: lazyRouteComponent(() => import('./supervise/supervise-page.tsx'), 'SupervisePage'),
})

const trailRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/desk/trail',
  staticData: { access: ['ADMIN'] },
  validateSearch: (search): { uuid?: string } => {
    const uuid = text(search['uuid'])
    return uuid === undefined ? {} : { uuid }
  },
  component: lazyRouteComponent(() => import('./supervise/trail-page.tsx'), 'TrailPage'),
})

const domainsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/desk/domains',
  staticData: { access: ['ADMIN'] },
  component: lazyRouteComponent(() => import('./supervise/domains-page.tsx'), 'DomainsPage'),
})

export const deskRoutes = [deskRoute, historyRoute, superviseRoute, trailRoute, domainsRoute] as const

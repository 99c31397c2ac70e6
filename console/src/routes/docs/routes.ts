import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

const docsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/docs',
  component: lazyRouteComponent(() => import('./docs-page.tsx'), 'DocsPage'),
})

export const docRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/docs/$name',
  component: lazyRouteComponent(() => import('./doc-page.tsx'), 'DocPage'),
})

export const docsRoutes = [docsRoute, docRoute] as const

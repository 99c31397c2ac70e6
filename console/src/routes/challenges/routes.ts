import type { Delivery } from '@reeve/sdk'
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

const challengesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/challenges',
  staticData: { access: ['CHALLENGER', 'ADMIN'] },
  component: lazyRouteComponent(() => import('./challenges-page.tsx'), 'ChallengesPage'),
})

export const challengeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/challenges/$challengeId',
  staticData: { access: ['CHALLENGER', 'ADMIN'] },
  component: lazyRouteComponent(() => import('./challenge-page.tsx'), 'ChallengePage'),
})

// No challenge has the id `deliveries`.
export const deliveriesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/challenges/deliveries',
  staticData: { access: ['ADMIN'] },
  validateSearch: (search): { status?: Delivery['status'] } => {
    const { status } = search
    return status === 'dead' || status === 'pending' || status === 'delivered' ? { status } : {}
  },
  component: lazyRouteComponent(() => import('./deliveries/deliveries-page.tsx'), 'DeliveriesPage'),
})

export const deliveryRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/challenges/deliveries/$deliveryId',
  staticData: { access: ['ADMIN'] },
  component: lazyRouteComponent(() => import('./deliveries/delivery-page.tsx'), 'DeliveryPage'),
})

/** Its address is beside the challenges, whose ids are chosen by people. */
const signatureRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/signature',
  staticData: { access: ['CHALLENGER', 'ADMIN'] },
  component: lazyRouteComponent(() => import('./signature/signature-page.tsx'), 'SignaturePage'),
})

export const challengesRoutes = [
  signatureRoute,
  challengesRoute,
  deliveriesRoute,
  deliveryRoute,
  challengeRoute,
] as const

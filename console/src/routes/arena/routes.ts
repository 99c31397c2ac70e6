import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

const lobbyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/arena',
  component: lazyRouteComponent(() => import('./lobby-page.tsx'), 'LobbyPage'),
})

const playRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/arena/play',
  staticData: { access: 'account' },
  component: lazyRouteComponent(() => import('./play-page.tsx'), 'PlayPage'),
})

export const leaderboardRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/arena/leaderboard',
  validateSearch: ({ page }): { page?: number } => (typeof page === 'number' && page > 1 ? { page } : {}),
  component: lazyRouteComponent(() => import('./leaderboard-page.tsx'), 'LeaderboardPage'),
})

export const playerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/arena/players/$id',
  staticData: { access: 'account' },
  component: lazyRouteComponent(() => import('./player-page.tsx'), 'PlayerPage'),
})

export const matchRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/arena/matches/$id',
  staticData: { access: 'account' },
  component: lazyRouteComponent(() => import('./match-page.tsx'), 'MatchPage'),
})

export const arenaRoutes = [lobbyRoute, playRoute, leaderboardRoute, playerRoute, matchRoute] as const

// The arena door: accounts wait for an opponent, play a live match over a WebSocket, and their ratings move once.
//
// HTTP:        POST /api/queue/join, /api/queue/cancel; GET /api/profile, /api/profile/ratings, /api/leaderboard,
//              /api/matches, /api/matches/live, /api/matches/{id}, /ops/status.
//              (/api/auth/*, /api/health and /metrics belong to all doors.)
// WebSocket:   GET /ws.
// Kind:        match. Its executor is the node that runs it (node.ts), in every process that serves HTTP.
// Loops:       a node's own, in every process that serves; pruning, in every process that works.
import { batched } from '../../core/db/batch.ts'
import type { Deps, Door } from '../../core/door.ts'
import type { Live } from '../../core/http/routes/metrics.ts'
import { pruneLoop } from './prune.ts'
import { envelope } from './errors.ts'
import { matchKind } from './matches/match-kind.ts'
import { matchRetention } from './matches/retention.ts'
import { openNode, type ArenaNode } from './node.ts'
import { queueRoutes } from './queue/join.ts'
import { findPlayersRoute } from './read/find-players.ts'
import { leaderboardRoute } from './read/leaderboard.ts'
import { openLiveMatches } from './read/live-matches.ts'
import { matchesRoutes } from './read/matches.ts'
import { opsStatusRoute } from './read/ops-status.ts'
import { setListed } from './read/listed.ts'
import { profileRoutes } from './read/profile.ts'
import { ARENA_SETTINGS, type ArenaSettings } from './settings.ts'
import { gatewayRoute } from './sockets/gateway.ts'

export const arenaDoor: Door<typeof ARENA_SETTINGS> = {
  name: 'arena',
  about: 'Two players in a live session over WebSocket; the result is a match, and both ratings move once.',
  settings: ARENA_SETTINGS,
  paths: ['/api/', '/ops/', '/ws'],
  errorBody: (report) => envelope.errorBody(report),
  migrations: new URL('migrations/', import.meta.url),

  open(deps, settings) {
    const node = openNode(deps, settings)
    deps.identity.onActiveChange(setListed)
    const live = openLiveMatches({ database: deps.database })
    return {
      kinds: [matchKind(deps.database)],
      live: [live.topic],
      loops: { serving: [...node.loops, live.loop], working: [pruneLoop(deps.database)] },
      retention: matchRetention(deps, settings),
      stopServing: () => node.stop(),
      routes: (app) => arenaRoutes(app, { deps, settings, node }),
    }
  },
}

type App = Parameters<ReturnType<typeof gatewayRoute>>[0]

interface Arena {
  deps: Deps
  settings: ArenaSettings
  node: ArenaNode
}

async function arenaRoutes(app: App, { deps, settings, node }: Arena): Promise<void> {
  const { config, identity, database, clock } = deps
  const { hot: pool } = database
  const { log, metrics, wheel, players, sessions, remotes, presence, store, seats, watching, rotateToken } = node
  const { askRematch, matchmaker } = node
  // Anyone may ask, as often as they like: concurrent callers share one query.
  const queueLength = batched<object, { queue: number }>({
    concurrency: 1,
    run: async (asked) => {
      const queue = await seats.length()
      return asked.map(() => ({ queue }))
    },
  })
  const count = async (): Promise<Live> => ({ ...(await queueLength({})), sessions: sessions.size })
  app.liveCounts.provide(count)

  const conversation = {
    sessions,
    remotes,
    players,
    presence,
    store,
    watching,
    rotateToken,
    askRematch,
    matchmaker,
    clock,
    log,
  }
  await app.register(gatewayRoute({ ...conversation, config, identity, wheel, metrics }))
  await app.register(queueRoutes({ database, identity, settings, seats, matchmaker }))
  await app.register(profileRoutes({ pool, identity }))
  await app.register(findPlayersRoute({ pool, identity }))
  await app.register(leaderboardRoute({ pool }))
  await app.register(matchesRoutes({ pool: database, identity }))
  await app.register(opsStatusRoute({ opsToken: config.OPS_TOKEN, count }))
}

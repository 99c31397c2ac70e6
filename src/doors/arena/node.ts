// A node of the arena: a process that has players connected. It holds sockets, runs matches, and shares the queue with all
// other nodes.
//
//   POST /api/queue/join ─► seat ─► pairing ─► match (job, live row) ─► session on the node where the players are
//                                                    ▲                      │ ticks, inputs, snapshots
//                     another node takes over ───────┘                      ▼
//                                                            result + both ratings + seats, in one transaction
//
// What must not be lost is in PostgreSQL; what is in memory here can be had again from there by any other node.
import { isoNow } from '../../core/clock.ts'
import type { Deps } from '../../core/door.ts'
import { ownerName } from '../../core/log.ts'
import type { Loop } from '../../core/loop.ts'
import { newSecret } from '../../core/random.ts'
import { openExchange } from './cluster/exchange.ts'
import { Mail } from './cluster/mail.ts'
import { Remotes } from './cluster/remotes.ts'
import type { Session } from './engine/session.ts'
import { Sessions } from './engine/sessions.ts'
import { Wheel } from './engine/wheel.ts'
import { openKeeper } from './matches/keeper.ts'
import { openMatchStore } from './matches/match-store.ts'
import { openResultRecorder } from './matches/record-result.ts'
import { Runner } from './matches/runner.ts'
import { takeoverLoop } from './matches/takeover.ts'
import { openArenaMetrics } from './metrics.ts'
import { openPresence } from './players/presence.ts'
import { openResumeTokens } from './players/resume-tokens.ts'
import { openMatchmaker } from './queue/matchmaker.ts'
import { openSeats } from './queue/seats.ts'
import type { ArenaSettings } from './settings.ts'
import { Players } from './sockets/players.ts'
import { Watching } from './sockets/watching.ts'

const SHOW_EVERY_MS = 3000

/** What a node stands on: no HTTP, and nobody's account. */
export type NodeDeps = Pick<Deps, 'bus' | 'clock' | 'config' | 'database' | 'ledger' | 'log' | 'metrics' | 'wakeOutbox'>

export type ArenaNode = ReturnType<typeof openNode>

export function openNode(deps: NodeDeps, settings: ArenaSettings) {
  const stage = openStage(deps, settings)
  const { ledger, log, mail, presence, runner, sessions, wheel } = stage
  const keeper = openKeeper(stage)
  const takeover = takeoverLoop({ ledger, runner })
  const postToAll = (line: string) => mail.postToAll(line)
  const matchmaker = openMatchmaker({ ...deps, ...stage, settings, postToAll })
  stage.hear(
    openExchange({
      ...stage,
      onStart: (matchId) => void runner.take([matchId]).catch((error: unknown) => log.error({ err: error })),
      onLook: () => takeover.wake.ring(),
    }),
  )
  const showing: Loop = {
    name: 'show this node',
    everyMs: SHOW_EVERY_MS,
    runOnce: () => presence.showNode().then(() => false),
  }
  const loops = [showing, matchmaker.pairing, matchmaker.expiring, keeper.loop, takeover, stage.remotes.loop]

  const giveBack = async (session: Session): Promise<void> => {
    if (session.state === 'closing') await runner.finish(session)
    if (session.isOver) return
    sessions.forget(session)
    await ledger
      .release(session.held)
      .catch((error: unknown) => log.error({ err: error }, 'could not give a match back'))
  }

  return {
    ...stage,
    matchmaker,
    /** For processes that serve. */
    loops,
    /** After the loops have stopped: gives back what it runs, with a last snapshot, so that another node can go on with it at once. */
    async stop(): Promise<void> {
      wheel.stop()
      await keeper.saveAll()
      await Promise.all([...sessions.all()].map(giveBack))
      await presence.hideNode().catch((error: unknown) => log.error({ err: error }, 'could not sign off'))
      mail.postToAll('look')
      mail.close()
    },
  }
}

/** All that is on a node, before anything on it moves. */
function openStage(deps: NodeDeps, settings: ArenaSettings) {
  const { ledger, bus, config, clock } = deps
  const { hot: pool } = deps.database
  const node = newSecret().slice(0, 16)
  const log = deps.log.child({ arena_node: node })
  const leaseMs = settings.SESSION_LEASE_SECONDS * 1000
  const metrics = openArenaMetrics(deps.metrics, { sessions: () => sessions.size })
  const wheel = new Wheel({ onSlot: (lateMs) => metrics.lateness.observe(lateMs) })
  let hear: (line: string) => void = () => {}
  const mail = new Mail(bus, wheel, node, (line) => hear(line))
  const post = (to: string, line: string) => mail.post(to, line)
  const onLastTick = (session: Session) => void runner.finish(session)

  const players = new Players()
  const sessions = new Sessions({ wheel, stamp: stamper(() => isoNow(clock)), post, onLastTick })
  const presence = openPresence({ pool, node, tokenTtlSec: config.AUTH_TOKEN_TTL_SECONDS })
  const store = openMatchStore(pool)
  const shared = { ledger, pool, store, sessions, players, presence, post, metrics, log, node, leaseMs, wheel, mail }

  const remotes = new Remotes(shared)
  const onRetry = (matchId: string, why: unknown) => log.warn({ err: why, job_id: matchId }, 'result is recorded again')
  const runner: Runner = new Runner({
    ...shared,
    record: openResultRecorder({ ledger, pool, leaseMs, onRetry }),
    owner: `${ownerName(config)}/${node}`,
    resumeMs: settings.SESSION_RESUME_SECONDS * 1000,
    onLost: (session) =>
      void remotes.moved(session).catch((error: unknown) => log.error({ err: error }, 'players not found again')),
  })
  return {
    ...shared,
    remotes,
    runner,
    seats: openSeats(pool),
    watching: new Watching({ sessions, remotes, watchersMax: settings.SESSION_WATCHERS_MAX }),
    rotateToken: openResumeTokens(pool, config.AUTH_TOKEN_TTL_SECONDS),
    hear: (onLine: (line: string) => void) => {
      hear = onLine
    },
  }
}

/** The time of day costs more to write than to tell: once per turn of the wheel. */
function stamper(iso: () => string): (now: number) => string {
  let at = -1
  let text = ''
  return (now) => {
    if (now !== at) {
      at = now
      text = iso()
    }
    return text
  }
}

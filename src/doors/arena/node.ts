// A node of the arena: a process with connected players. It holds sockets, runs matches and shares the queue with all other
// nodes.
//
//   POST /api/queue/join ─► seat ─► pairing ─► match (job, live row) ─► session on the node where the players are
//                                                    ▲                      │ ticks, inputs, snapshots
//                     another node takes over ───────┘                      ▼
//                                                            result + both ratings + seats, in one transaction
//
// What must not be lost is in PostgreSQL; any other node can rebuild what this one holds in memory.
import { isoNow } from '../../core/clock.ts'
import type { Deps } from '../../core/door.ts'
import type { Ledger } from '../../core/ledger/ledger.ts'
import { ownerName } from '../../core/log/log.ts'
import type { Loop } from '../../core/loop.ts'
import { newSecret } from '../../core/random.ts'
import { NodeMessages } from './cluster/node-messages.ts'
import { openReceiver } from './cluster/receive.ts'
import { RemoteSessions } from './cluster/remote-sessions.ts'
import type { Session } from './engine/session.ts'
import { Sessions } from './engine/sessions.ts'
import { Wheel } from './engine/wheel.ts'
import { openMatchKeeper, type MatchKeeper } from './matches/match-keeper.ts'
import { openMatchStore } from './matches/match-store.ts'
import { openResultRecorder } from './matches/record-result.ts'
import { Runner } from './matches/runner.ts'
import { takeoverLoop } from './matches/takeover.ts'
import { openArenaMetrics } from './metrics.ts'
import { openPresence } from './players/presence.ts'
import { openResumeTokens } from './players/resume-tokens.ts'
import { openMatchmaker } from './queue/matchmaker.ts'
import { openRematch } from './queue/rematch.ts'
import { openSeats } from './queue/seats.ts'
import type { ArenaSettings } from './settings.ts'
import { Players } from './sockets/players.ts'
import { Watching } from './sockets/watching.ts'

const ANNOUNCE_EVERY_MS = 3000

/** What a node needs of the core: no HTTP and no accounts. */
export type NodeDeps = Pick<Deps, 'bus' | 'clock' | 'config' | 'database' | 'ledger' | 'log' | 'metrics' | 'outbox'>

export type ArenaNode = ReturnType<typeof openNode>

type NodeParts = ReturnType<typeof openNodeParts>

export function openNode(deps: NodeDeps, settings: ArenaSettings) {
  const { database, ledger, outbox } = deps
  const parts = openNodeParts(deps, settings)
  const { node, pool, log, leaseMs, messages, send, wheel, players, sessions, presence, store, seats } = parts
  const { remotes, runner, metrics, watching, rotateToken } = parts

  const keeper = openMatchKeeper({ ledger, pool, store, sessions, runner, send, log, node, leaseMs })
  const takeover = takeoverLoop({ ledger, runner })
  const matchmaker = openMatchmaker({
    database,
    ledger,
    outbox,
    settings,
    seats,
    runner,
    metrics,
    node,
    wheel,
    send,
    sendToAll: (message) => messages.sendToAll(message),
  })
  messages.onMessage(
    openReceiver({
      players,
      sessions,
      remotes,
      send,
      onStart: (matchId) => void runner.take([matchId]).catch((error: unknown) => log.error({ err: error })),
      onReleased: () => takeover.wake.ring(),
    }),
  )
  const announce: Loop = {
    name: 'announce-arena-node',
    everyMs: ANNOUNCE_EVERY_MS,
    runOnce: () => presence.announceNode().then(() => false),
  }

  return {
    log,
    metrics,
    wheel,
    players,
    sessions,
    remotes,
    presence,
    store,
    seats,
    watching,
    rotateToken,
    askRematch: openRematch(pool),
    matchmaker,
    /** Run in processes that serve. */
    loops: [announce, matchmaker.pairing, matchmaker.expiring, keeper.loop, takeover, remotes.loop],
    stop: () => stopNode(parts, ledger, keeper),
  }
}

/** After the loops have stopped: writes a last snapshot and releases every match, so that other nodes continue at once. */
async function stopNode(parts: NodeParts, ledger: Ledger, keeper: MatchKeeper): Promise<void> {
  const { wheel, sessions, runner, presence, messages, log } = parts
  const release = async (session: Session): Promise<void> => {
    if (session.state === 'closing') await runner.finish(session)
    if (session.isOver) return
    sessions.forget(session)
    await ledger.release(session.held).catch((error: unknown) => log.error({ err: error }, 'could not release a match'))
  }
  wheel.stop()
  await keeper.saveAll()
  await Promise.all([...sessions.all()].map(release))
  await presence.removeNode().catch((error: unknown) => log.error({ err: error }, 'could not remove the arena node'))
  messages.sendToAll({ type: 'released' })
  messages.close()
}

/** The parts of a node, none of them started. */
function openNodeParts(deps: NodeDeps, settings: ArenaSettings) {
  const { ledger, bus, config, clock } = deps
  const { hot: pool } = deps.database
  const node = newSecret().slice(0, 16)
  const log = deps.log.child({ arena_node: node })
  const leaseMs = settings.SESSION_LEASE_SECONDS * 1000
  const metrics = openArenaMetrics(deps.metrics, { sessions: () => sessions.size })
  const wheel = new Wheel({ onSlot: (lateMs) => metrics.lateness.observe(lateMs) })
  const messages = new NodeMessages(bus, wheel, node)
  const send: NodeMessages['send'] = (to, message) => messages.send(to, message)
  const onLastTick = (session: Session) => void runner.finish(session)

  const players = new Players()
  const sessions = new Sessions({ wheel, stamp: stamper(() => isoNow(clock)), send, onLastTick })
  const presence = openPresence({ pool, node, tokenTtlSec: config.AUTH_TOKEN_TTL_SECONDS })
  const store = openMatchStore(pool)
  const remotes = new RemoteSessions({ node, pool, store, presence, players, sessions, send })
  const onRetry = (matchId: string, why: unknown) =>
    log.warn({ err: why, job_id: matchId }, 'recording a result is retried')
  const runner: Runner = new Runner({
    ledger,
    store,
    record: openResultRecorder({ ledger, pool, leaseMs, onRetry }),
    sessions,
    players,
    presence,
    send,
    metrics,
    log,
    node,
    owner: `${ownerName(config)}/${node}`,
    leaseMs,
    resumeMs: settings.SESSION_RESUME_SECONDS * 1000,
    onLost: (session) =>
      void remotes
        .moved(session)
        .catch((error: unknown) => log.error({ err: error }, 'could not follow a session to its new node')),
  })
  const seats = openSeats(pool)
  const watching = new Watching({ sessions, remotes, watchersMax: settings.SESSION_WATCHERS_MAX })
  const rotateToken = openResumeTokens(pool, config.AUTH_TOKEN_TTL_SECONDS)
  return {
    node,
    pool,
    log,
    leaseMs,
    metrics,
    wheel,
    messages,
    send,
    players,
    sessions,
    presence,
    store,
    remotes,
    runner,
    seats,
    watching,
    rotateToken,
  }
}

/** Formats the time once per turn of the wheel: formatting costs more than reading the clock. */
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

// Runs matches on this node: acquires their jobs, opens their sessions and records their results.
//
//   begin   starts matches that were just paired
//   take    acquires matches that wait or were abandoned; they continue from their last snapshot, or end as void
//   finish  records the result after the last tick, then tells the players
//   close   tells the players and forgets the session
import type { Logger } from 'pino'
import type { Acquired } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { NodeMessage, SendToNode } from '../cluster/messages.ts'
import { textFrame } from '../engine/frame.ts'
import { Game } from '../engine/game.ts'
import type { Session } from '../engine/session.ts'
import type { Sessions } from '../engine/sessions.ts'
import { userIdsOf, type Match } from '../match.ts'
import type { ArenaMetrics } from '../metrics.ts'
import type { PlayerPresence } from '../players/presence.ts'
import type { Players } from '../sockets/players.ts'
import { createdText, endedText, startedText, type MatchEnd } from '../wire.ts'
import type { StoredMatch, MatchStore } from './match-store.ts'
import type { RecordResult } from './record-result.ts'
import type { GameOutcome } from './result-effects.ts'

/** A match that was taken over this often may crash the node that runs it: it ends as void. */
const ATTEMPTS_MAX = 20

export interface RunnerDeps {
  ledger: Ledger
  store: MatchStore
  record: RecordResult
  sessions: Sessions
  players: Players
  presence: PlayerPresence
  send: SendToNode
  metrics: ArenaMetrics
  log: Logger
  node: string
  owner: string
  leaseMs: number
  resumeMs: number
  /** The session continues on another node. */
  onLost(session: Session): void
}

export class Runner {
  readonly #deps: RunnerDeps
  readonly #recording = new Set<Session>()

  constructor(deps: RunnerDeps) {
    this.#deps = deps
  }

  async begin(matches: readonly Match[]): Promise<void> {
    const jobs = await acquireEach(
      this.#deps,
      matches.map(({ matchId }) => matchId),
    )
    const opened = matches.flatMap((match) => {
      const job = jobs.get(match.matchId)
      return job === undefined ? [] : [this.#open(match, new Game(match.ticks), job)]
    })
    for (const session of opened) this.#start(session)
    await invite(this.#deps, opened)
  }

  async take(matchIds: readonly string[]): Promise<void> {
    const { store, sessions, node } = this.#deps
    const jobs = await acquireEach(this.#deps, matchIds)
    if (jobs.size === 0) return
    const rows = await store.claim([...jobs.values()], node)
    const rowOf = new Map(rows.map((row) => [row.match.matchId, row]))
    const opened: { session: Session; row: StoredMatch }[] = []
    for (const job of jobs.values()) {
      const row = rowOf.get(job.jobId)
      const known = sessions.get(job.jobId)
      if (row === undefined) await giveUp(this.#deps, job)
      else if (known !== undefined) this.#adopt(known, job)
      else opened.push({ session: this.#open(row.match, Game.resume(row.match.ticks, row), job), row })
    }
    await invite(
      this.#deps,
      opened.map(({ session }) => session),
    )
    for (const { session, row } of opened) this.#goOn(session, row)
  }

  /** Records the end of a session and tells its players. Never rejects; a result that was not recorded is retried later. */
  async finish(session: Session): Promise<void> {
    if (this.#recording.has(session) || session.isOver) return
    this.#recording.add(session)
    try {
      const { match, held } = session
      const outcome = outcomeOf(session)
      const recorded = await this.#deps.record({ match, held, outcome })
      if (recorded.ok) this.close(session, recorded.ended)
      else if (recorded.code === 'lost') this.lose(session)
      else this.#deps.log.warn({ job_id: match.matchId }, 'result not recorded yet')
    } catch (error) {
      this.#deps.log.error({ err: error, job_id: session.sessionId }, 'could not record a result')
    } finally {
      this.#recording.delete(session)
    }
  }

  /** Called after the commit. */
  close(session: Session, ended: MatchEnd): void {
    if (session.isOver) return
    const { sessions, players, metrics, send } = this.#deps
    sessions.forget(session)
    metrics.matches.inc({ result: ended.reason })
    const text = endedText(session.sessionId, ended)
    const userIds = userIdsOf(session.match)
    session.audience.sendFrame(textFrame(text))
    const over = { type: 'over', sessionId: session.sessionId, userIds, text } as const
    for (const node of session.peerNodes.nodes()) send(node, over)
    players.unseat(session, userIds)
  }

  /** Another node has acquired the match. */
  lose(session: Session): void {
    if (session.isOver) return
    this.#deps.sessions.forget(session)
    this.#deps.players.unseat(session, userIdsOf(session.match))
    this.#deps.onLost(session)
  }

  /** After the lease expired: acquires the match again unless another node has it. */
  async reclaim(session: Session): Promise<void> {
    const job = (await acquireEach(this.#deps, [session.sessionId])).get(session.sessionId)
    if (job === undefined) return this.lose(session)
    await this.#deps.store.claim([job], this.#deps.node)
    this.#adopt(session, job)
  }

  #open(match: Match, game: Game, { jobId, attemptId, owner }: Acquired): Session {
    const held = { jobId, attemptId, owner }
    const session = this.#deps.sessions.open({ match, game, held, isResumed: attemptId > 1 })
    this.#deps.players.seat(session, userIdsOf(match))
    return session
  }

  #start(session: Session): void {
    for (const text of greetings(session)) session.audience.sendFrame(textFrame(text))
    this.#deps.sessions.begin(session)
  }

  /** A session of this node continues under its next attempt. */
  #adopt(session: Session, { jobId, attemptId, owner }: Acquired): void {
    session.held = { jobId, attemptId, owner }
    session.saved = null
    if (session.state === 'closing') void this.finish(session)
  }

  #goOn(session: Session, { ageMs }: StoredMatch): void {
    const { attemptId } = session.held
    if (ageMs > this.#deps.resumeMs || attemptId > ATTEMPTS_MAX) {
      session.state = 'closing' // its game is not over, so it is recorded as void
      void this.finish(session)
    } else if (attemptId === 1) {
      this.#start(session)
    } else {
      this.#deps.metrics.resumed.inc()
      this.#deps.sessions.begin(session)
    }
  }
}

/** Null: void. */
function outcomeOf({ game, resigned }: Session): GameOutcome | null {
  if (!game.isOver && resigned === null) return null
  const { positions, tick: ticks, record } = game
  const inputs = record.slice()
  if (resigned === null) return { reason: 'completed', positions, ticks, winner: game.winner, inputs }
  return { reason: 'resigned', positions, ticks, winner: resigned === 0 ? 1 : 0, inputs }
}

/** What a player is told when a session begins. Nothing for a session that continues after a takeover. */
const greetings = ({ match, game, held }: Session): string[] =>
  held.attemptId === 1 ? [createdText(match), startedText(match, game)] : []

/** By match id. A match that cannot be acquired belongs to another node, or the next takeover pass finds it. */
async function acquireEach(deps: RunnerDeps, matchIds: readonly string[]): Promise<Map<string, Acquired>> {
  const { ledger, owner, leaseMs, log } = deps
  const jobs = new Map<string, Acquired>()
  await Promise.all(
    matchIds.map(async (jobId) => {
      try {
        const answer = await ledger.acquire({ jobId, owner, leaseMs })
        if (answer.ok) jobs.set(jobId, answer.job)
      } catch (error) {
        log.error({ err: error, job_id: jobId }, 'could not acquire a match')
      }
    }),
  )
  return jobs
}

/** A job of this kind without a match: it was not submitted by pairing. */
async function giveUp({ ledger }: RunnerDeps, { jobId, attemptId, owner }: Acquired): Promise<void> {
  await ledger.fail({ jobId, attemptId, owner, error: 'There is no such match.', retryMs: null })
}

async function invite(deps: RunnerDeps, opened: readonly Session[]): Promise<void> {
  if (opened.length === 0) return
  try {
    const sessionOf = new Map(opened.flatMap((session) => userIdsOf(session.match).map((id) => [id, session] as const)))
    const present = await deps.presence.nodesOf([...sessionOf.keys()])
    for (const { userId, node } of present) {
      const session = sessionOf.get(userId)
      if (session === undefined || node === deps.node) continue
      session.peerNodes.expect(node, userId, performance.now())
      deps.send(node, invitation(deps.node, session, [userId]))
    }
  } catch (error) {
    deps.log.error({ err: error }, 'could not invite players on other nodes')
  }
}

/** Tells another node that these players, connected there, take part in a session of this node. */
export const invitation = (node: string, session: Session, userIds: readonly number[]): NodeMessage => ({
  type: 'hello',
  sessionId: session.sessionId,
  node,
  userIds,
  greetings: greetings(session),
})

// Runs matches on this node: takes their jobs, opens their sessions, and records what came of them.
//
//   begin   matches that were just paired, fresh
//   take    matches that wait, or that another node left behind: they go on from their last snapshot, or are void
//   finish  the last tick was played: record, then tell
//   close   tell the players, and forget
import type { Logger } from 'pino'
import type { Acquired } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { textFrame } from '../engine/frame.ts'
import { Game } from '../engine/game.ts'
import type { Session } from '../engine/session.ts'
import type { Sessions } from '../engine/sessions.ts'
import { userIdsOf, type Match } from '../match.ts'
import type { ArenaMetrics } from '../metrics.ts'
import type { Presence } from '../players/presence.ts'
import type { Players } from '../sockets/players.ts'
import { createdText, endedText, startedText, type Ended } from '../wire.ts'
import type { LiveMatch, MatchStore } from './match-store.ts'
import type { RecordResult } from './record-result.ts'

/** A match that has been taken over so often brings down whoever runs it. */
const ATTEMPTS_MAX = 20

export interface RunnerDeps {
  ledger: Ledger
  store: MatchStore
  record: RecordResult
  sessions: Sessions
  players: Players
  presence: Presence
  post(node: string, line: string): void
  metrics: ArenaMetrics
  log: Logger
  node: string
  owner: string
  leaseMs: number
  resumeMs: number
  /** A session is no longer run here, but it is not over. */
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
    const opened: { session: Session; row: LiveMatch }[] = []
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

  /** Records the end of a session and tells of it. It never rejects; what could not be recorded is tried again later. */
  async finish(session: Session): Promise<void> {
    if (this.#recording.has(session) || session.isOver) return
    this.#recording.add(session)
    try {
      const { match, held, game } = session
      const { positions, winner, record } = game
      const outcome = game.isOver ? { positions, winner, inputs: record.slice() } : null
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

  /** After the commit: tells the players, and forgets. */
  close(session: Session, ended: Ended): void {
    if (session.isOver) return
    const { sessions, players, metrics, post } = this.#deps
    sessions.forget(session)
    metrics.matches.inc({ result: ended.reason })
    const text = endedText(session.sessionId, ended)
    const userIds = userIdsOf(session.match)
    session.audience.sendFrame(textFrame(text))
    for (const node of session.outposts.nodes()) post(node, `over ${session.sessionId} ${userIds.join(',')} ${text}`)
    players.unseat(session, userIds)
  }

  /** Another node has it. */
  lose(session: Session): void {
    if (session.isOver) return
    this.#deps.sessions.forget(session)
    this.#deps.players.unseat(session, userIdsOf(session.match))
    this.#deps.onLost(session)
  }

  /** Its lease had run out: if nobody has taken it over, it is this node's again. */
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

  /** A session that runs here goes on under its next attempt. */
  #adopt(session: Session, { jobId, attemptId, owner }: Acquired): void {
    session.held = { jobId, attemptId, owner }
    session.saved = null
    if (session.state === 'closing') void this.finish(session)
  }

  #goOn(session: Session, { ageMs }: LiveMatch): void {
    const { attemptId } = session.held
    if (ageMs > this.#deps.resumeMs || attemptId > ATTEMPTS_MAX) {
      session.state = 'closing' // with its game not over: void
      void this.finish(session)
    } else if (attemptId === 1) {
      this.#start(session)
    } else {
      this.#deps.metrics.resumed.inc()
      this.#deps.sessions.begin(session)
    }
  }
}

/** What a player is told when a session begins. One that goes on has been told before. */
export const greetings = ({ match, game, held }: Session): string[] =>
  held.attemptId === 1 ? [createdText(match), startedText(match, game)] : []

/** By match. Whatever cannot be had is somebody else's, or is found again by the next look for what is left behind. */
async function acquireEach(deps: RunnerDeps, matchIds: readonly string[]): Promise<Map<string, Acquired>> {
  const { ledger, owner, leaseMs, log } = deps
  const jobs = new Map<string, Acquired>()
  await Promise.all(
    matchIds.map(async (jobId) => {
      try {
        const answer = await ledger.acquire({ jobId, owner, leaseMs })
        if (answer.ok) jobs.set(jobId, answer.job)
      } catch (error) {
        log.error({ err: error, job_id: jobId }, 'could not take a match')
      }
    }),
  )
  return jobs
}

/** A job of this kind that no pairing made. */
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
      session.outposts.suppose(node, userId, performance.now())
      deps.post(node, invitation(deps.node, session, [userId]))
    }
  } catch (error) {
    deps.log.error({ err: error }, 'could not look for players elsewhere')
  }
}

/** Says to another node: these players of yours are in this session of mine. */
export const invitation = (node: string, session: Session, userIds: readonly number[]): string =>
  `hello ${session.sessionId} ${node} ${userIds.join(',')} ${JSON.stringify(greetings(session))}`

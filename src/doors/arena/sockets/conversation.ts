// Handles the messages of a client.
import type { Logger } from 'pino'
import { isoNow, type Clock } from '../../../core/clock.ts'
import { parseJobId } from '../../../core/ledger/job.ts'
import { Game } from '../engine/game.ts'
import { Session, type PlayerInput, type VisibleSession } from '../engine/session.ts'
import type { Sessions } from '../engine/sessions.ts'
import type { SocketError } from '../errors.ts'
import type { Match } from '../match.ts'
import type { StoredMatch, MatchStore } from '../matches/match-store.ts'
import type { PlayerPresence } from '../players/presence.ts'
import type { RotateToken } from '../players/resume-tokens.ts'
import type { Matchmaker } from '../queue/matchmaker.ts'
import type { AskRematch } from '../queue/rematch.ts'
import type { RemoteSessions } from '../cluster/remote-sessions.ts'
import { errorText, eventText, participantsOf, playersOf } from '../wire.ts'
import { inputFrom, parseMessage, type ClientMessage, type InputFields } from './message.ts'
import type { PlayerSocket } from './player-socket.ts'
import type { Players } from './players.ts'
import type { Watching } from './watching.ts'

export interface ConversationDeps {
  sessions: Sessions
  remotes: RemoteSessions
  players: Players
  presence: PlayerPresence
  store: MatchStore
  watching: Watching
  rotateToken: RotateToken
  askRematch: AskRematch
  matchmaker: Pick<Matchmaker, 'joined' | 'tellRematch'>
  clock: Clock
  log: Logger
}

export interface Speaker {
  client: PlayerSocket
  userId: number
  username: string
}

type MessageHandler = (
  deps: ConversationDeps,
  speaker: Speaker,
  message: ClientMessage,
) => SocketError | null | Promise<SocketError | null>

const HANDLERS: ReadonlyMap<string, MessageHandler> = new Map<string, MessageHandler>([
  ['session.input', takeInput],
  ['session.resign', resign],
  ['session.rematch', rematch],
  ['echo', echo],
  ['resync_request', resync],
  ['session.watch', watch],
  ['session.unwatch', unwatch],
])

export function hear(deps: ConversationDeps, speaker: Speaker, data: Buffer): void {
  const { client } = speaker
  const parsed = parseMessage(data)
  const refuse = (seq: number, code: SocketError) => client.send(errorText(code, client.language, seq))
  if (!parsed.ok) return refuse(parsed.seq, parsed.code)

  const { message } = parsed
  const handler = HANDLERS.get(message.event)
  if (handler === undefined) return refuse(message.seq, 'unknown_event')
  const wrong = handler(deps, speaker, message)
  if (typeof wrong === 'string') return refuse(message.seq, wrong)
  if (wrong === null) return undefined
  wrong.then(
    (code) => (code === null ? undefined : refuse(message.seq, code)),
    (error: unknown) => {
      deps.log.error({ err: error }, 'could not handle a message')
      refuse(message.seq, 'unavailable')
    },
  )
  return undefined
}

/** As `hear`, for an input of the player's own session that has been read already. */
export function hearInput(speaker: Speaker, session: VisibleSession, seq: number, fields: PlayerInput): void {
  const { client } = speaker
  const wrong = giveInput(speaker, session, seq, fields)
  if (wrong !== null) client.send(errorText(wrong, client.language, seq))
}

function echo(_: ConversationDeps, { client, userId }: Speaker, { seq, p }: ClientMessage): SocketError | null {
  const { message } = p
  if (typeof message !== 'string') return 'bad_request'
  client.send(eventText('echo', { message, userId }, seq))
  return null
}

function takeInput(deps: ConversationDeps, speaker: Speaker, { seq, p }: ClientMessage) {
  const { sessionId } = p
  if (typeof sessionId !== 'string') return 'input_invalid'
  const session = sessionSeen(deps, speaker, sessionId)
  if (session === undefined) return whereElse(deps, sessionId)
  return giveInput(speaker, session, seq, p)
}

function giveInput({ client, userId }: Speaker, session: VisibleSession, seq: number, fields: InputFields) {
  const input = inputFrom(fields)
  if (input === null) return session.isParticipant(userId) ? 'input_invalid' : 'not_participant'
  return session.input(client, seq, input)
}

function resign(deps: ConversationDeps, speaker: Speaker, { seq, p }: ClientMessage) {
  const { sessionId } = p
  if (typeof sessionId !== 'string') return 'session_not_found'
  const session = sessionSeen(deps, speaker, sessionId)
  return session === undefined ? whereElse(deps, sessionId) : session.resign(speaker.client, seq)
}

async function rematch(deps: ConversationDeps, { client, userId }: Speaker, { seq, p }: ClientMessage) {
  const sessionId = typeof p['sessionId'] === 'string' ? parseJobId(p['sessionId']) : null
  if (sessionId === null) return 'session_not_found'
  const asked = await deps.askRematch(sessionId, userId)
  if (!asked.ok) return asked.code
  const { opponentId, expiresAt, leftMs } = asked
  client.send(eventText('session.rematch', { sessionId, userId, expiresAt: expiresAt.toISOString() }, seq))
  deps.matchmaker.tellRematch({ sessionId, userId, opponentId })
  deps.matchmaker.joined(leftMs)
  return null
}

/** Looks at the player's own session first: it is nearly always that one. */
function sessionSeen(
  { players, sessions, remotes }: ConversationDeps,
  { userId }: Speaker,
  id: string,
): VisibleSession | undefined {
  const own = players.sessionOf(userId)
  return own?.sessionId === id ? own : (sessions.get(id) ?? remotes.get(id))
}

/** Unknown on this node: another node may run it, for other players. */
async function whereElse({ store }: ConversationDeps, sessionId: string): Promise<SocketError> {
  const matchId = parseJobId(sessionId)
  if (matchId === null) return 'session_not_found'
  return (await store.find(matchId)) === null ? 'session_not_found' : 'not_participant'
}

async function resync(
  deps: ConversationDeps,
  speaker: Speaker,
  { seq, p }: ClientMessage,
): Promise<SocketError | null> {
  const { userId, username, client } = speaker
  const { resumeToken: token } = p
  if (typeof token !== 'string') return 'invalid_resume_token'
  const rotated = await deps.rotateToken({ userId, token })
  if (!rotated.ok) return 'invalid_resume_token'

  const session = await sessionView(deps, userId)
  const queue = session === null ? await queueView(deps, userId) : null
  const snapshot = {
    version: rotated.version,
    state: session === null ? 'auth_only' : 'in_session',
    issuedAt: isoNow(deps.clock),
    user: { userId, username },
    ...(session === null ? {} : { session }),
    ...(queue === null ? {} : { queue }),
  }
  client.send(eventText('resync_state', { resumeToken: rotated.resumeToken, snapshot }, seq))
  return null
}

/** The current state if the session runs here, else its last snapshot, at most a second old. */
async function sessionView({ players, store }: ConversationDeps, userId: number) {
  const session = players.sessionOf(userId)
  if (session === null) return null
  if (session instanceof Session) return viewOf(session)
  const live = await store.find(session.sessionId)
  return live === null ? null : viewOf(gameFrom(live))
}

async function queueView({ presence }: ConversationDeps, userId: number) {
  const seat = await presence.seatOf(userId)
  return seat.is === 'waiting' ? { mode: seat.mode, expiresAt: seat.expiresAt.toISOString() } : null
}

/** All that a client needs to join a session in progress. */
const viewOf = ({ match, game }: { match: Match; game: Game }) => ({
  sessionId: match.matchId,
  createdAt: match.createdAt,
  participants: participantsOf(match),
  tickIntervalMs: match.tickIntervalMs,
  ticks: match.ticks,
  tick: game.tick,
  players: playersOf(match, game),
})

async function watch(deps: ConversationDeps, { client }: Speaker, { seq, p }: ClientMessage) {
  const { watching, store, sessions } = deps
  const sessionId = typeof p['sessionId'] === 'string' ? parseJobId(p['sessionId']) : null
  const live = sessionId === null ? null : await store.find(sessionId)
  if (live === null) return 'session_not_found'
  if (client.isClosing) return null // a closing socket never unwatches
  if (!watching.begin(live.match.matchId, live.node, client)) return 'session_full'
  client.send(eventText('session.watching', viewOf(sessions.get(live.match.matchId) ?? gameFrom(live)), seq))
  return null
}

/** From the last snapshot, at most a second old. */
const gameFrom = (live: StoredMatch) => ({ match: live.match, game: Game.resume(live.match.ticks, live) })

function unwatch({ watching }: ConversationDeps, { client }: Speaker, { seq, p }: ClientMessage): SocketError | null {
  const { sessionId } = p
  if (typeof sessionId !== 'string' || !watching.end(sessionId, client)) return 'session_not_found'
  client.send(eventText('session.unwatched', { sessionId }, seq))
  return null
}

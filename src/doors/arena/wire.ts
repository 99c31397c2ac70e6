// Messages to the client: `{ t, seq, event, p }`. A reply carries the `seq` of the message it answers, everything else 0.
import type { Side } from '@reeve/sdk/arena-replay'
import type { Game } from './engine/game.ts'
import { SOCKET_ERRORS, type MessageLanguage, type SocketError } from './errors.ts'
import type { Match } from './match.ts'

export const eventText = (event: string, p: object, seq = 0): string => JSON.stringify({ t: 'event', seq, event, p })

export function errorText(code: SocketError, language: MessageLanguage, seq = 0): string {
  const wording: { code?: string; ko: string; en: string } = SOCKET_ERRORS[code]
  return JSON.stringify({
    t: 'error',
    seq,
    event: null,
    p: { code: wording.code ?? code, message: wording[language] },
  })
}

export const participantsOf = ({ participants }: Match) =>
  participants.map(({ userId, username }) => ({ userId, username }))

export const playersOf = ({ participants }: Match, game: Game) =>
  participants.map(({ userId }, index) => {
    const side: Side = index === 0 ? 0 : 1
    return { userId, position: game.positions[side], lastSequence: game.lastSequence(side) }
  })

export const createdText = (match: Match): string =>
  eventText('session.created', {
    sessionId: match.matchId,
    createdAt: match.createdAt,
    participants: participantsOf(match),
  })

export const startedText = (match: Match, game: Game): string =>
  eventText('session.started', {
    sessionId: match.matchId,
    tick: game.tick,
    tickIntervalMs: match.tickIntervalMs,
    state: { players: playersOf(match, game), tick: game.tick },
  })

export interface MatchEnd {
  reason: 'completed' | 'resigned' | 'void'
  /** Null for a void match. */
  result: { winnerUserId: number | null; ticks: number } | null
}

export const endedText = (sessionId: string, { reason, result }: MatchEnd): string =>
  eventText('session.ended', { sessionId, reason, result })

/**
 * The constant parts of a state, between its tick, the position and last sequence of each player, and the time: everything
 * but these is the same at every tick, and they need no escaping and one byte per character.
 */
export function stateParts({ matchId, participants: [a, b] }: Match): readonly string[] {
  return [
    `{"t":"event","seq":0,"event":"session.state","p":{"sessionId":"${matchId}","tick":`,
    `,"players":[{"userId":${a.userId},"position":`,
    ',"lastSequence":',
    `},{"userId":${b.userId},"position":`,
    ',"lastSequence":',
    '}],"issuedAt":"',
  ]
}

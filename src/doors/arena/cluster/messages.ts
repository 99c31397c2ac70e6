// The messages that nodes of the arena send each other. On the bus a message is one line: its type, then its fields in a
// fixed order, separated by spaces; the last field may contain spaces. A line that does not decode comes from another
// version of Reeve and is ignored.
import { isSocketError, type SocketError } from '../errors.ts'

export type NodeMessage =
  /** A match was paired for this node. */
  | { type: 'start'; matchId: string }
  /** Players connected to the receiver take part in a session of the sender. */
  | { type: 'hello'; sessionId: string; node: string; userIds: readonly number[]; greetings: readonly string[] }
  /** The sender has a player of the session connected, or (null) a spectator. */
  | { type: 'attach'; sessionId: string; node: string; userId: number | null }
  /** The sender has nobody left who follows the session. */
  | { type: 'detach'; sessionId: string; node: string }
  /** An event for everyone on the receiver who follows the session. */
  | { type: 'event'; sessionId: string; text: string }
  /** The last event of the session. */
  | { type: 'over'; sessionId: string; userIds: readonly number[]; text: string }
  /** The sender does not run the session. */
  | { type: 'unknown'; sessionId: string }
  | InputMessage
  /** A player on the sender resigns. */
  | { type: 'resign'; sessionId: string; node: string; clientId: number; userId: number; seq: number }
  /** A player's last connection to the sender closed, or the player is back. */
  | { type: 'presence'; sessionId: string; userId: number; isPresent: boolean }
  /** Why an input was refused. */
  | { type: 'refuse'; clientId: number; seq: number; code: SocketError }
  /** To all nodes: these players found no opponent in time. */
  | { type: 'timeout'; userIds: readonly number[] }
  /** To all nodes: a player wants a rematch, and the opponent is told. */
  | { type: 'rematch'; sessionId: string; userId: number; opponentId: number }
  /** To all nodes: a node released its matches. */
  | { type: 'released' }

export interface InputMessage {
  type: 'input'
  sessionId: string
  node: string
  clientId: number
  userId: number
  seq: number
  sequence: number
  targetTick: number
  delta: number
}

export type SendToNode = (node: string, message: NodeMessage) => void

export function encodeMessage(message: NodeMessage): string {
  switch (message.type) {
    case 'start':
      return `start ${message.matchId}`
    case 'hello': {
      const { sessionId, node, userIds, greetings } = message
      return `hello ${sessionId} ${node} ${userIds.join(',')} ${JSON.stringify(greetings)}`
    }
    case 'attach':
      return `attach ${message.sessionId} ${message.node} ${message.userId ?? 0}`
    case 'detach':
      return `detach ${message.sessionId} ${message.node}`
    case 'event':
      return `event ${message.sessionId} ${message.text}`
    case 'over':
      return `over ${message.sessionId} ${message.userIds.join(',')} ${message.text}`
    case 'unknown':
      return `unknown ${message.sessionId}`
    case 'input': {
      const { sessionId, node, clientId, userId, seq, sequence, targetTick, delta } = message
      return `input ${sessionId} ${node} ${clientId} ${userId} ${seq} ${sequence} ${targetTick} ${delta}`
    }
    case 'resign': {
      const { sessionId, node, clientId, userId, seq } = message
      return `resign ${sessionId} ${node} ${clientId} ${userId} ${seq}`
    }
    case 'presence':
      return `presence ${message.sessionId} ${message.userId} ${message.isPresent ? 1 : 0}`
    case 'refuse':
      return `refuse ${message.clientId} ${message.seq} ${message.code}`
    case 'timeout':
      return `timeout ${message.userIds.join(',')}`
    case 'rematch':
      return `rematch ${message.sessionId} ${message.userId} ${message.opponentId}`
    case 'released':
      return 'released'
  }
}

/** Null: not a message of this version. */
export function decodeMessage(line: string): NodeMessage | null {
  const [[type], rest] = fieldsOf(line, 1)
  return (Object.hasOwn(DECODERS, type) ? DECODERS[type]?.(rest) : null) ?? null
}

const DECODERS: Readonly<Record<string, (rest: string) => NodeMessage | null>> = {
  start: (matchId) => ({ type: 'start', matchId }),
  hello(rest) {
    const [[sessionId, node, users], greetings] = fieldsOf(rest, 3)
    return { type: 'hello', sessionId, node, userIds: numbersOf(users), greetings: textsOf(greetings) }
  },
  attach(rest) {
    const [[sessionId, node, user]] = fieldsOf(rest, 3)
    return { type: 'attach', sessionId, node, userId: user === '0' ? null : Number(user) }
  },
  detach(rest) {
    const [[sessionId, node]] = fieldsOf(rest, 2)
    return { type: 'detach', sessionId, node }
  },
  event(rest) {
    const [[sessionId], text] = fieldsOf(rest, 1)
    return { type: 'event', sessionId, text }
  },
  over(rest) {
    const [[sessionId, users], text] = fieldsOf(rest, 2)
    return { type: 'over', sessionId, userIds: numbersOf(users), text }
  },
  unknown: (sessionId) => ({ type: 'unknown', sessionId }),
  input(rest) {
    const [[sessionId, node, ...numbers]] = fieldsOf(rest, 8)
    const [clientId = NaN, userId = NaN, seq = NaN, sequence = NaN, targetTick = NaN, delta = NaN] = numbers.map(Number)
    return { type: 'input', sessionId, node, clientId, userId, seq, sequence, targetTick, delta }
  },
  resign(rest) {
    const [[sessionId, node, ...numbers]] = fieldsOf(rest, 5)
    const [clientId = NaN, userId = NaN, seq = NaN] = numbers.map(Number)
    return { type: 'resign', sessionId, node, clientId, userId, seq }
  },
  presence(rest) {
    const [[sessionId, userId, isPresent]] = fieldsOf(rest, 3)
    return { type: 'presence', sessionId, userId: Number(userId), isPresent: isPresent === '1' }
  },
  refuse(rest) {
    const [[clientId, seq, code]] = fieldsOf(rest, 3)
    return isSocketError(code) ? { type: 'refuse', clientId: Number(clientId), seq: Number(seq), code } : null
  },
  timeout: (users) => ({ type: 'timeout', userIds: numbersOf(users) }),
  rematch(rest) {
    const [[sessionId, userId, opponentId]] = fieldsOf(rest, 3)
    return { type: 'rematch', sessionId, userId: Number(userId), opponentId: Number(opponentId) }
  },
  released: () => ({ type: 'released' }),
}

/** The first fields of a line, and the rest of it. Missing fields are empty. */
function fieldsOf(line: string, count: 1): [[string], string]
function fieldsOf(line: string, count: 2): [[string, string], string]
function fieldsOf(line: string, count: 3): [[string, string, string], string]
function fieldsOf(line: string, count: 5): [[string, string, string, string, string], string]
function fieldsOf(line: string, count: 8): [[string, string, string, string, string, string, string, string], string]
function fieldsOf(line: string, count: number): [string[], string] {
  const fields: string[] = []
  let at = 0
  while (fields.length < count) {
    const end = line.indexOf(' ', at)
    fields.push(line.slice(at, end === -1 ? line.length : end))
    at = end === -1 ? line.length : end + 1
  }
  return [fields, line.slice(at)]
}

const numbersOf = (text: string): number[] => text.split(',').map(Number).filter(Number.isSafeInteger)

function textsOf(json: string): string[] {
  const value: unknown = JSON.parse(json)
  return Array.isArray(value) ? value.map(String) : []
}

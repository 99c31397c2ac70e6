// What a node does with a message from another node.
import type { Sessions } from '../engine/sessions.ts'
import type { Players } from '../sockets/players.ts'
import { errorText, eventText } from '../wire.ts'
import type { InputMessage, NodeMessage, SendToNode } from './messages.ts'
import type { RemoteSessions } from './remote-sessions.ts'

export interface ReceiveDeps {
  players: Players
  sessions: Sessions
  remotes: RemoteSessions
  send: SendToNode
  onStart(matchId: string): void
  onReleased(): void
}

export function openReceiver(deps: ReceiveDeps): (message: NodeMessage) => void {
  const { players, sessions, remotes, send } = deps

  return (message) => {
    switch (message.type) {
      case 'start':
        return deps.onStart(message.matchId)
      case 'hello':
        return remotes.onHello(message)
      case 'attach': {
        const { sessionId, node, userId } = message
        const session = sessions.get(sessionId)
        if (session === undefined) return send(node, { type: 'unknown', sessionId })
        return session.peerNodes.attach(node, userId, performance.now())
      }
      case 'detach':
        return sessions.get(message.sessionId)?.peerNodes.detach(message.node)
      case 'event':
        return remotes.onEvent(message.sessionId, message.text)
      case 'over':
        return remotes.onOver(message.sessionId, message.userIds, message.text)
      case 'unknown':
        return remotes.onUnknown(message.sessionId)
      case 'input':
        return takeInput(deps, message)
      case 'resign': {
        const { sessionId, node, clientId, userId, seq } = message
        const refusal = sessions.get(sessionId)?.resignOf(userId) ?? null
        if (refusal !== null) send(node, { type: 'refuse', clientId, seq, code: refusal })
        return undefined
      }
      case 'presence':
        return sessions.get(message.sessionId)?.notePresence(message.userId, message.isPresent)
      case 'refuse': {
        const client = players.client(message.clientId)
        return client?.send(errorText(message.code, client.language, message.seq))
      }
      case 'timeout':
        return tellTimeout(players, message.userIds)
      case 'rematch': {
        const { sessionId, userId, opponentId } = message
        const text = eventText('session.rematch', { sessionId, userId })
        for (const client of players.clientsOf(opponentId)) client.send(text)
        return undefined
      }
      case 'released':
        return deps.onReleased()
    }
  }
}

function takeInput({ sessions, send }: ReceiveDeps, message: InputMessage): void {
  const { sessionId, node, clientId, userId, seq, sequence, targetTick, delta } = message
  const session = sessions.get(sessionId)
  if (session === undefined) send(node, { type: 'unknown', sessionId })
  const refusal = session === undefined ? 'session_not_found' : session.inputOf(userId, { sequence, targetTick, delta })
  if (refusal !== null) send(node, { type: 'refuse', clientId, seq, code: refusal })
}

function tellTimeout(players: Players, userIds: readonly number[]): void {
  for (const userId of userIds) {
    for (const client of players.clientsOf(userId)) client.send(errorText('queue_timeout', client.language))
  }
}

// GET /ws: a player connects. The order matters: store the presence and the hash of a resume token, then send `auth_state`,
// then look up the session that the player may be in. Nothing is read from the client before `auth_state` is sent.
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import type { Config } from '../../../core/config.ts'
import { SECURED, UPGRADED } from '../../../core/http/routes/docs.ts'
import { Failure, languageOf } from '../../../core/http/errors/envelope.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { requireSocket } from '../../../core/http/auth/socket-auth.ts'
import type { Identity } from '../../../core/identity/identity.ts'
import { newSecret } from '../../../core/random.ts'
import { RemoteSession } from '../cluster/remote-session.ts'
import type { Wheel } from '../engine/wheel.ts'
import type { ArenaMetrics } from '../metrics.ts'
import { errorText, eventText } from '../wire.ts'
import { hear, hearInput, type ConversationDeps, type Speaker } from './conversation.ts'
import { PlayerSocket } from './player-socket.ts'

const FIRST_VERSION = 1
const TOO_MANY = { code: 1008, reason: 'too_many_connections' } as const
const FAILED = { code: 1011, reason: 'internal_error' } as const

export interface GatewayDeps extends ConversationDeps {
  config: Config
  identity: Identity
  wheel: Wheel
  metrics: ArenaMetrics
}

export const gatewayRoute =
  (deps: GatewayDeps): FastifyPluginAsync =>
  async (app) => {
    let count = 0
    const schema = {
      tags: ['arena'],
      summary: 'WebSocket: a player connects. Messages are in docs/arena.md, sections 4 to 7.',
      security: SECURED,
      response: { ...UPGRADED, 401: Failure, 403: Failure, 426: Failure, 429: Failure },
    }
    app.get('/ws', { websocket: true, onRequest: requireSocket(deps.identity), schema }, (socket, request) => {
      count += 1
      const speaker = speakerOf(deps, socket, request, count)
      socket.pause()
      welcome(deps, speaker, socket).catch((error: unknown) => {
        request.log.error({ err: error }, 'could not accept a player')
        speaker.client.close(FAILED.code, FAILED.reason)
      })
    })
  }

function speakerOf(deps: GatewayDeps, socket: WebSocket, request: FastifyRequest, id: number): Speaker {
  const { players, wheel, config, metrics } = deps
  const { accountId: userId, username } = accountOf(request)
  const client: PlayerSocket = new PlayerSocket({
    id,
    userId,
    language: languageOf(request.headers['accept-language'] ?? ''),
    socket,
    tcp: request.raw.socket,
    wheel,
    limits: { messagesMax: config.WS_QUEUE_LIMIT_MESSAGES, bytesMax: config.WS_QUEUE_LIMIT_BYTES },
    sessionOf: () => players.sessionOf(userId),
    onMessage: (message) => {
      if (message === null) client.send(errorText('bad_request', client.language))
      else hear(deps, speaker, message)
    },
    onInput: (session, seq, input) => hearInput(speaker, session, seq, input),
    onOffence: (reason) => metrics.closed.inc({ reason }),
  })
  const speaker: Speaker = { client, userId, username }
  return speaker
}

async function welcome(deps: GatewayDeps, speaker: Speaker, socket: WebSocket): Promise<void> {
  const { players, presence, remotes, identity } = deps
  const { client, userId, username } = speaker
  const resumeToken = newSecret()
  await Promise.all([presence.arrive({ userId, resumeToken }), identity.keepGuest({ accountId: userId, username })])

  const oldest = players.enter(client)
  client.onClosing(() => void depart(deps, speaker))
  if (client.isClosing) return
  if (oldest instanceof PlayerSocket) oldest.close(TOO_MANY.code, TOO_MANY.reason)
  client.send(eventText('auth_state', { userId, username, resumeToken, snapshotVersion: FIRST_VERSION }))
  await remotes.locate(userId)
  players.sessionOf(userId)?.notePresence(userId, true)
  socket.resume()
}

async function depart(deps: GatewayDeps, { client, userId, username }: Speaker): Promise<void> {
  const { players, presence, remotes, watching, identity, log } = deps
  const session = players.sessionOf(userId)
  const wasLast = players.leave(client)
  watching.leave(client)
  if (wasLast) session?.notePresence(userId, false)
  if (session instanceof RemoteSession) remotes.leave(session, userId)
  if (!wasLast) return
  try {
    await presence.leave(userId)
    if (players.has(userId)) await presence.stay(userId) // reconnected before it was written
    await identity.keepGuest({ accountId: userId, username })
  } catch (error) {
    log.error({ err: error }, 'could not store that a player left')
  }
}

// /ws/captcha and /ws/captcha/{domain}: the desk's events as they happen, and with `?since=` those that were missed. An operator sees
// the events of every task, a program those of its own.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { WebSocket } from 'ws'
import type { Event, Events } from '../../../core/events/events.ts'
import { follow } from '../../../core/http/sockets/follow.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED, UPGRADED } from '../../../core/http/routes/docs.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import type { Desk } from '../desk.ts'
import { isoNow } from '../../../core/clock.ts'
import { domainOf } from '../domains/domain.ts'
import { CHANNEL, parseStoredEvent, wireEvent } from './events.ts'
import { has, socketGuard, type GuardParts } from '../guard.ts'

const Query = Type.Object({
  since: Type.Optional(
    Type.String({ maxLength: 40, description: 'The `id` or the `timestamp` of the last event that was seen.' }),
  ),
})

/** As events have it. Years of more digits are beyond what PostgreSQL counts. */
const TIMESTAMP = /^\d{4}-\d\d-\d\d(?:T|$)/

export const socketRoute =
  (parts: GuardParts & Pick<Desk, 'events'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { events } = parts
    const places = new WeakMap<FastifyRequest, number>()
    const hooks = {
      websocket: true as const,
      onRequest: socketGuard(parts, 'OPERATOR', 'ADMIN', 'SCRAPER'),
      /** Before the upgrade: what happens once the client knows that it is connected is not missed. */
      preHandler: async (request: FastifyRequest) => void places.set(request, await placeOf(events, sinceOf(request))),
    }
    const attach = (socket: WebSocket, request: FastifyRequest, domain: string | null) => {
      const connection = app.hub.attach(socket)
      connection.send(JSON.stringify({ type: 'connected', timestamp: isoNow(), payload: { domain } }))
      socket.on('message', (data, isBinary) => {
        const answer = isBinary ? null : answerTo(String(data))
        if (answer !== null) connection.send(answer)
      })
      return follow(connection, {
        events,
        channel: CHANNEL,
        since: places.get(request),
        encode: encoder(request, domain),
      })
    }

    const documented = {
      tags: ['desk'],
      security: SECURED,
      querystring: Query,
      response: { ...UPGRADED, ...refusals(401, 403, 426, 429) },
    }
    const all = { ...documented, summary: 'WebSocket: what happens to tasks, and what was missed since an event.' }
    app.get('/ws/captcha', { ...hooks, schema: all }, (socket, request) => attach(socket, request, null))

    const Path = Type.Object({ domain: Type.String({ maxLength: 512 }) })
    const schema = { ...documented, params: Path, summary: 'WebSocket: the same for the tasks of one domain.' }
    app.get('/ws/captcha/:domain', { ...hooks, schema }, (socket, request) => {
      const domain = domainOf(request.params.domain) ?? request.params.domain
      return attach(socket, request, domain)
    })
  }

const PING_CHARS_MAX = 1000

/** Clients keep their connection alive with `ping`, or `{"type": "ping"}`. Anything else is ignored. */
function answerTo(text: string): string | null {
  if (text === 'ping') return 'pong'
  if (text.length > PING_CHARS_MAX || !/^\s*\{\s*"type"\s*:\s*"ping"\s*[,}]/.test(text)) return null
  return JSON.stringify({ type: 'pong', timestamp: isoNow() })
}

function sinceOf({ query }: FastifyRequest): string | null {
  return typeof query === 'object' && query !== null && 'since' in query ? String(query.since) : null
}

/** An id, a time, or now. */
async function placeOf(events: Events, since: string | null): Promise<number> {
  if (since === null || since === '') return events.lastId(CHANNEL)
  if (/^\d{1,15}$/.test(since)) return Number(since)
  const moment = new Date(TIMESTAMP.test(since) ? since : Number.NaN)
  if (!Number.isNaN(moment.getTime())) return events.lastIdAt(CHANNEL, moment)
  const message = 'must be the id or the timestamp of an event'
  const fields = [{ path: ['query', 'since'], message, rule: 'value_error' }]
  throw new HttpError(422, 'validation_failed', `query.since ${message}.`, { fields })
}

function encoder(request: FastifyRequest, domain: string | null): (event: Event) => string | null {
  const ownOnly = has(request, 'OPERATOR') || has(request, 'ADMIN') ? null : accountOf(request).accountId
  return ({ id, type, payload }) => {
    const event = parseStoredEvent(payload)
    if (event === null || (ownOnly !== null && event.account_id !== ownOnly)) return null
    const isOfDomain = domain === null || event.payload.domain === domain
    return isOfDomain ? JSON.stringify({ id, ...wireEvent(type, event) }) : null
  }
}

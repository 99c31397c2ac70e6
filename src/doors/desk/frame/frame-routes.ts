// The addresses of the frame.
//
//   POST /api/v1/captcha/tasks/{uuid}/frame      an address for an iframe, with a ticket in it
//   GET  /internal/solver-frame/{uuid}           the page of the task; so does /api/v1/captcha/proxy/render/{uuid}
//   *    /internal/solver-frame/{uuid}/…         whatever that page asks for
//   GET  /api/v1/captcha/tasks/{uuid}/cookies    the cookies that the page set, proposed to the operator
//
// Pages are answered on FRAME_HOST only; at any other host these paths redirect there.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { credentialOf } from '../../../core/http/auth/guard.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { audit } from '../changes/audit.ts'
import type { Desk } from '../desk.ts'
import { conflict } from '../errors.ts'
import { actorOf, operatorGuard, operatorOf, type GuardParts } from '../guard.ts'
import { findVisible, TaskPath } from '../tasks/read-tasks.ts'
import { CookieItem } from '../solutions/cookie.ts'
import type { WholeTaskRow } from '../tasks/task.ts'
import { hostsOf, isFrameHost, isolate } from './frame-headers.ts'
import { notePage } from './frame-page.ts'
import { FRAME_PATH, restOf, unframed, type Depth } from './frame-url.ts'
import type { Frame } from './open-frame.ts'
import type { TicketHolder } from './ticket.ts'
import { showPage, showTask, type ShowParts } from './show-page.ts'

const BODY_BYTES_MAX = 1024 * 1024

const TicketQuery = Type.Object({ t: Type.Optional(Type.String({ maxLength: 1000 })) })
const InnerPath = Type.Object({
  uuid: Type.String(),
  ticket: Type.String(),
  scheme: Type.String(),
  host: Type.String(),
  '*': Type.String(),
})
const Issued = Type.Object({ url: Type.String(), expires_at: Type.String({ format: 'date-time' }) })
const Proposed = Type.Object({ uuid: Type.String(), cookies: Type.Array(CookieItem) })

type FrameParts = GuardParts & ShowParts & Pick<Desk, 'config' | 'tasks'>

export const frameRoutes =
  (parts: FrameParts, frame: Frame): FastifyPluginAsyncTypebox =>
  async (app) => {
    const guard = operatorGuard(parts, 'OPERATOR')
    const secured = { tags: ['desk'], security: SECURED, params: TaskPath }

    const issue = {
      ...secured,
      summary: 'An address for the frame of a task that I hold.',
      response: { 200: Issued, ...refusals(401, 403, 404, 409, 429) },
    }
    app.post('/api/v1/captcha/tasks/:uuid/frame', { onRequest: guard, schema: issue }, async (request) => {
      const { url, expiresAt } = await issueTicket(parts, frame, request, request.params.uuid)
      return { url, expires_at: expiresAt.toISOString() }
    })

    const propose = {
      ...secured,
      summary: 'The cookies that the page of a task that I hold has set.',
      response: { 200: Proposed, ...refusals(401, 403, 404, 409, 429) },
    }
    app.get('/api/v1/captcha/tasks/:uuid/cookies', { onRequest: guard, schema: propose }, async (request) => {
      const task = await findHeld(parts, request, request.params.uuid)
      const cookies = await frame.jar.proposed(task.uuid)
      await audit(parts.database, {
        action: 'cookies_shown',
        actor: actorOf(request),
        uuid: task.uuid,
        detail: `${cookies.length}`,
      })
      return { uuid: task.uuid, cookies }
    })
  }

/** What the frame's host answers. */
export const framePageRoutes =
  (parts: FrameParts, frame: Frame): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { FRAME_HOST: frameHost } = parts.settings
    const guard = operatorGuard(parts, 'OPERATOR')
    app.removeAllContentTypeParsers()
    app.addContentTypeParser<Buffer>(
      '*',
      { parseAs: 'buffer' },
      async (_request: FastifyRequest, bytes: Buffer) => bytes,
    )

    const schema = { hide: true, params: TaskPath, querystring: TicketQuery }
    for (const path of [`${FRAME_PATH}/:uuid`, '/api/v1/captcha/proxy/render/:uuid']) {
      app.get(path, { schema }, async (request, reply) => {
        const { uuid } = request.params
        const { t: ticket } = request.query
        if (!isFrameHost(request, frameHost)) {
          if (ticket !== undefined) return reply.redirect(hostsOf(request, frameHost, parts.config).frame + request.url)
          await guard(request)
          return reply.redirect((await issueTicket(parts, frame, request, uuid, path)).url)
        }
        const admitted = await admit(parts, frame, { request, reply, uuid, ticket: ticket ?? '', depth: 'page' })
        return admitted === null ? reply : showTask(parts, frame, { ...admitted, request, reply })
      })
    }

    app.route({
      method: ['GET', 'HEAD', 'POST'],
      url: `${FRAME_PATH}/:uuid/:ticket/:scheme/:host/*`,
      bodyLimit: BODY_BYTES_MAX,
      schema: { hide: true, params: InnerPath },
      handler: async (request, reply) => {
        if (!isFrameHost(request, frameHost))
          return reply.redirect(hostsOf(request, frameHost, parts.config).frame + request.url, 307)
        const { uuid, ticket, scheme, host } = request.params
        const place = unframed(scheme, host, restOf(request.raw.url ?? ''))
        const depth = place?.depth ?? 'page'
        const admitted = await admit(parts, frame, { request, reply, uuid, ticket, depth })
        if (admitted === null) return reply
        if (place === null) return note(reply, 404, 'Not found', 'This is not an address of the frame.')
        return showPage(parts, frame, { ...admitted, url: place.url, depth, request, reply })
      },
    })

    // Other requests of a page below this path carry a ticket too: handled here, their addresses are not logged.
    app.route({
      method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      url: `${FRAME_PATH}/*`,
      bodyLimit: BODY_BYTES_MAX,
      schema: { hide: true },
      handler: async (request, reply) => {
        isolate(reply, hostsOf(request, frameHost, parts.config), { isInner: false })
        if (request.method !== 'OPTIONS') return note(reply, 404, 'Not found', 'This is not an address of the frame.')
        // A page with an opaque origin sends a preflight before JSON, even to the host that it came from.
        return reply
          .code(204)
          .headers({
            'access-control-allow-methods': 'GET, HEAD, POST',
            'access-control-allow-headers': 'content-type',
          })
          .send()
      },
    })
  }

/** Only the holder of the task sees its page. */
async function findHeld(parts: FrameParts, request: FastifyRequest, uuid: string): Promise<WholeTaskRow> {
  const task = await findVisible(parts.tasks, request, uuid)
  const operator = operatorOf(request)
  if (task.locked_until === null || (operator !== null && task.assigned_to !== operator))
    throw conflict('Claim the task first')
  return task
}

async function issueTicket(
  parts: FrameParts,
  frame: Frame,
  request: FastifyRequest,
  uuid: string,
  path = `${FRAME_PATH}/:uuid`,
) {
  const task = await findHeld(parts, request, uuid)
  const operator = task.assigned_to ?? ''
  const holder = parts.settings.CAPTCHA_AUTH === 'on' ? credentialOf(request) : null
  const { text, expiresAt } = frame.tickets.issue(task.uuid, holder ?? { operator }, task.now.getTime())
  await audit(parts.database, { action: 'framed', actor: actorOf(request, operator), uuid: task.uuid })
  const { frame: origin } = hostsOf(request, parts.settings.FRAME_HOST, parts.config)
  return { url: `${origin}${path.replace(':uuid', task.uuid)}?t=${text}`, expiresAt }
}

interface Asking {
  request: FastifyRequest
  reply: FastifyReply
  uuid: string
  ticket: string
  depth: Depth
}

/** Null: refused, and the reply says so. */
async function admit(parts: FrameParts, frame: Frame, { request, reply, uuid, ticket, depth }: Asking) {
  const hosts = hostsOf(request, parts.settings.FRAME_HOST, parts.config)
  isolate(reply, hosts, { isInner: depth === 'inner' })
  const task = await parts.tasks.find(uuid)
  const holder = task === null ? null : frame.tickets.read(ticket, task.uuid, task.now.getTime())
  const operator = holder === null ? null : await operatorWith(parts, holder)
  if (task === null || operator === null) {
    parts.counts.frames.inc({ outcome: 'refused' })
    note(reply, 403, 'This frame is over', 'Its address is wrong or too old. Open it again from the task.')
    return null
  }
  if (task.locked_until === null || task.assigned_to !== operator) {
    parts.counts.frames.inc({ outcome: 'refused' })
    note(reply, 403, 'The task is not yours any more', 'Claim it again, then open the frame again.')
    return null
  }
  return { task, ticket }
}

/** Null: the credential is no longer valid, or its account no longer an operator. */
async function operatorWith({ identity }: FrameParts, holder: TicketHolder): Promise<string | null> {
  if ('operator' in holder) return holder.operator
  const account = await identity.authenticate(holder)
  return account !== null && account.roles.includes('OPERATOR') ? account.username : null
}

const note = (reply: FastifyReply, status: number, title: string, text: string): FastifyReply =>
  reply.code(status).type('text/html; charset=utf-8').send(notePage(title, text))

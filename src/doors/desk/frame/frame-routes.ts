// The addresses of the frame.
//
//   POST /api/v1/captcha/tasks/{uuid}/frame      an address for an iframe, with a ticket in it
//   GET  /internal/solver-frame/{uuid}?t=…       exchanges the ticket for a cookie; so does /api/v1/captcha/proxy/render/{uuid}
//   GET  /internal/solver-frame/{uuid}           the page of the task
//   *    /internal/solver-frame/{uuid}/…         whatever that page asks for
//   GET  /api/v1/captcha/tasks/{uuid}/cookies    the cookies that the page set, proposed to the operator
//
// Pages are answered on FRAME_HOST only; at any other host these paths redirect there.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { credentialOf } from '../../../core/http/auth/guard.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { contentOf, SECURED } from '../../../core/http/routes/docs.ts'
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
import { keepTicket, spendTicket } from './ticket-store.ts'
import { showPage, showTask, type ShowParts } from './show-page.ts'

const BODY_BYTES_MAX = 1024 * 1024

const TicketQuery = Type.Object({ t: Type.Optional(Type.String({ maxLength: 1000 })) })
const InnerPath = Type.Object({
  uuid: Type.String(),
  scheme: Type.String(),
  host: Type.String(),
  '*': Type.String(),
})
const PAGE = contentOf('A page, in a sandbox.', 'text/html')
const REDIRECT = Type.Null({ description: 'The same on FRAME_HOST.' })
const framed = { tags: ['desk'], response: { 200: PAGE, 302: REDIRECT, 404: PAGE } }
const FRAME = {
  ...framed,
  summary: 'The page of a task that I hold, on FRAME_HOST; elsewhere a redirect to it.',
  params: TaskPath,
  querystring: TicketQuery,
}
const INSIDE = { ...framed, summary: 'What the page of a task asks for, fetched for it.', params: InnerPath }
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

    for (const path of [`${FRAME_PATH}/:uuid`, '/api/v1/captcha/proxy/render/:uuid']) {
      app.get(path, { schema: FRAME }, async (request, reply) => {
        const { uuid } = request.params
        const { t: ticket } = request.query
        if (!isFrameHost(request, frameHost)) {
          if (ticket !== undefined) return reply.redirect(hostsOf(request, frameHost, parts.config).frame + request.url)
          await guard(request)
          return reply.redirect((await issueTicket(parts, frame, request, uuid, path)).url)
        }
        if (ticket !== undefined) return exchange(parts, frame, { request, reply, uuid, ticket })
        const task = await admit(parts, frame, { request, reply, uuid, depth: 'page' })
        return task === null ? reply : showTask(parts, frame, { task, request, reply })
      })
    }

    app.route({
      method: ['GET', 'HEAD', 'POST'],
      url: `${FRAME_PATH}/:uuid/:scheme/:host/*`,
      bodyLimit: BODY_BYTES_MAX,
      schema: INSIDE,
      handler: async (request, reply) => {
        if (!isFrameHost(request, frameHost))
          return reply.redirect(hostsOf(request, frameHost, parts.config).frame + request.url, 307)
        const { uuid, scheme, host } = request.params
        const place = unframed(scheme, host, restOf(request.raw.url ?? ''))
        const depth = place?.depth ?? 'page'
        const task = await admit(parts, frame, { request, reply, uuid, depth })
        if (task === null) return reply
        if (place === null) return note(reply, 404, 'Not found', 'This is not an address of the frame.')
        return showPage(parts, frame, { task, url: place.url, depth, request, reply })
      },
    })

    // Other requests of a page below this path: their addresses are the site's, and are not logged.
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
  await keepTicket(parts.database, task.uuid, text)
  await audit(parts.database, { action: 'framed', actor: actorOf(request, operator), uuid: task.uuid })
  const { frame: origin } = hostsOf(request, parts.settings.FRAME_HOST, parts.config)
  return { url: `${origin}${path.replace(':uuid', task.uuid)}?t=${text}`, expiresAt }
}

interface Asking {
  request: FastifyRequest
  reply: FastifyReply
  uuid: string
  depth: Depth
}

/** From the address that the console opened to one that the page may read. A reload comes with the cookie of the first time. */
async function exchange(
  parts: FrameParts,
  frame: Frame,
  { request, reply, uuid, ticket }: Omit<Asking, 'depth'> & { ticket: string },
): Promise<FastifyReply> {
  isolate(reply, hostsOf(request, parts.settings.FRAME_HOST, parts.config), { isInner: false })
  const task = await parts.tasks.find(uuid)
  if (task === null) return over(parts, reply)
  const nowMs = task.now.getTime()
  const cookie = frame.tickets.cookieFor(ticket, task.uuid, nowMs)
  if (cookie !== null && (await spendTicket(parts.database, task.uuid, ticket))) reply.header('set-cookie', cookie)
  else if (frame.tickets.holderOf(request.headers.cookie, task.uuid, nowMs) === null) return over(parts, reply)
  return reply.redirect(`${FRAME_PATH}/${task.uuid}`)
}

/** Null: refused, and the reply says so. */
async function admit(parts: FrameParts, frame: Frame, { request, reply, uuid, depth }: Asking) {
  isolate(reply, hostsOf(request, parts.settings.FRAME_HOST, parts.config), { isInner: depth === 'inner' })
  const task = await parts.tasks.find(uuid)
  const holder = task === null ? null : frame.tickets.holderOf(request.headers.cookie, task.uuid, task.now.getTime())
  const operator = holder === null ? null : await operatorWith(parts, holder)
  if (task === null || operator === null) {
    over(parts, reply)
    return null
  }
  if (task.locked_until === null || task.assigned_to !== operator) {
    parts.counts.frames.inc({ outcome: 'refused' })
    note(reply, 403, 'The task is not yours any more', 'Claim it again, then open the frame again.')
    return null
  }
  return task
}

function over({ counts }: FrameParts, reply: FastifyReply): FastifyReply {
  counts.frames.inc({ outcome: 'refused' })
  const text =
    'Open it again from the task. If that does not help, the browser refuses its cookie: the frame needs https.'
  return note(reply, 403, 'This frame is over', text)
}

/** Null: the credential is no longer valid, or its account no longer an operator. */
async function operatorWith({ identity }: FrameParts, holder: TicketHolder): Promise<string | null> {
  if ('operator' in holder) return holder.operator
  const account = await identity.authenticate(holder)
  return account !== null && account.roles.includes('OPERATOR') ? account.username : null
}

const note = (reply: FastifyReply, status: number, title: string, text: string): FastifyReply =>
  reply.code(status).type('text/html; charset=utf-8').send(notePage(title, text))

// Fetches a page, or a file that a page asks for, rewrites it for the frame and answers it.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Overloaded } from '../../../core/values/outcome.ts'
import type { Desk } from '../desk.ts'
import { entriesFor, isReserved, parsePage } from '../domains/domain.ts'
import { domainNames } from '../domains/domain-store.ts'
import type { WholeTaskRow } from '../tasks/task.ts'
import type { PageAnswer, PageRefusal } from './fetch-page.ts'
import { giveBack, sentHeaders } from './frame-headers.ts'
import { notePage, taskPage } from './frame-page.ts'
import { framed, resolve, type Depth } from './frame-url.ts'
import type { Frame } from './open-frame.ts'
import { rewriteCss } from './rewrite-css.ts'
import { isTooDeep, rewriteHtml } from './rewrite-html.ts'

/** Text that is rewritten has a lower limit than files that pass unchanged. */
const TEXT_BYTES_MAX = 3 * 1024 * 1024

interface Shown {
  task: WholeTaskRow
  request: FastifyRequest
  reply: FastifyReply
}

/** The page of the task itself, at an address outside the rewritten ones. */
export type ShowParts = Pick<Desk, 'database' | 'counts'>

export async function showTask(parts: ShowParts, frame: Frame, shown: Shown): Promise<FastifyReply> {
  const { task, reply } = shown
  if (isReserved(task.domain)) return reply.type('text/html; charset=utf-8').send(taskPage(task))
  const url = new URL(task.url)
  return show(parts, frame, {
    ...shown,
    url,
    depth: 'page',
    base: framed({ uuid: task.uuid, depth: 'page' }, url),
  })
}

export const showPage = (
  parts: ShowParts,
  frame: Frame,
  shown: Shown & { url: URL; depth: Depth },
): Promise<FastifyReply> => show(parts, frame, { ...shown, base: null })

async function show(parts: ShowParts, frame: Frame, shown: Shown & { url: URL; depth: Depth; base: string | null }) {
  try {
    return await frame.pages.run(() => fetchAndShow(parts, frame, shown))
  } catch (error) {
    if (!(error instanceof Overloaded)) throw error
    return shown.reply.code(503).type('text/html; charset=utf-8').send(notePage('Too busy', 'Try again in a moment.'))
  }
}

async function fetchAndShow(
  parts: ShowParts,
  frame: Frame,
  shown: Shown & { url: URL; depth: Depth; base: string | null },
) {
  const { task, url, request, reply } = shown
  const { body } = request
  const isOwn = isOfSite(url, task.domain)
  if (!isOwn && request.method === 'POST')
    return reply
      .code(403)
      .type('text/html; charset=utf-8')
      .send(notePage('Not sent', 'It is not the site of this task.'))
  const cookie = isOwn ? await frame.jar.headerFor(task.uuid, url) : ''
  const answer = await frame.fetchPage({
    url,
    method: request.method,
    headers: sentHeaders(request, url, { userAgent: task.user_agent, cookie }),
    body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
    proxyId: task.proxy_id,
  })
  parts.counts.frames.inc({ outcome: answer.ok ? 'shown' : answer.code })
  if (!answer.ok) {
    const [status, text] = REFUSALS[answer.code]
    return reply.code(status).type('text/html; charset=utf-8').send(notePage('The page cannot be shown', text))
  }
  if (isOwn) await frame.jar.keep(task.uuid, url, answer.setCookies, task.now)

  const lead = await leading(parts, shown)
  const location = answer.headers.get('location')
  if (location !== undefined && answer.status >= 300 && answer.status < 400)
    return redirect(shown, location, answer, lead)
  giveBack(reply, answer.headers)
  return reply.code(statusOf(answer.status)).send(await madeToFit(shown, answer, lead))
}

/** A page and its parts may come from any listed domain. Cookies and forms are for the task's own host and its subdomains. */
function isOfSite(url: URL, domain: string): boolean {
  const site = new URL(`${url.protocol}//${domain.replace(/^www\./, '')}`)
  return url.port === site.port && (url.hostname === site.hostname || url.hostname.endsWith(`.${site.hostname}`))
}

type Lead = (url: URL, isFrame: boolean) => string | null

/** What may be fetched is decided when it is fetched; addresses that would be refused are left alone here. */
async function leading(parts: ShowParts, { task, depth }: Shown & { depth: Depth }): Promise<Lead> {
  const listed = new Set(await domainNames(parts.database))
  return (url, isFrame) => {
    const domain = parsePage(url.href)?.domain
    const isListed = domain !== undefined && entriesFor(domain).some((entry) => listed.has(entry))
    return isListed ? framed({ uuid: task.uuid, depth: isFrame ? 'inner' : depth }, url) : null
  }
}

function redirect({ url, reply }: { url: URL; reply: FastifyReply }, location: string, answer: PageAnswer, lead: Lead) {
  const target = resolve(location, url)
  const led = target === null ? null : lead(target, false)
  if (led !== null) return reply.redirect(led, answer.status)
  const text = `It leads to ${target?.host ?? 'nowhere'}, which is not on the list of this desk.`
  return reply.code(403).type('text/html; charset=utf-8').send(notePage('The page leads elsewhere', text))
}

async function madeToFit(
  { url, reply, base }: { url: URL; reply: FastifyReply; base: string | null },
  answer: PageAnswer,
  lead: Lead,
) {
  const [type = '', charset] = typeOf(answer.headers.get('content-type') ?? '')
  const isHtml = type === 'text/html' || type === 'application/xhtml+xml'
  if ((!isHtml && type !== 'text/css') || answer.body.length > TEXT_BYTES_MAX) {
    // A page that is too long to be rewritten is refused: its addresses would lead out of the frame.
    if (isHtml) return notePage('The page cannot be shown', 'It is too long.')
    return answer.body
  }
  const text = decode(answer.body, charset)
  reply.header('content-type', `${type}; charset=utf-8`)
  if (isHtml && isTooDeep(text)) return notePage('The page cannot be shown', 'Too many pictures are drawn in it.')
  if (isHtml) return rewriteHtml(text, { page: url, lead, base })
  return rewriteCss(text, (address) => {
    const target = resolve(address, url)
    return target === null ? address : (lead(target, false) ?? address)
  })
}

function typeOf(header: string): [type: string, charset: string] {
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  return [type, charset?.replaceAll(/["']/g, '') ?? '']
}

/** By the header, or by the page's own declaration in its first bytes. */
function decode(bytes: Buffer, charset: string): string {
  const said = /<meta[^>]{0,200}charset\s*=\s*["']?([a-z0-9_-]{2,40})/i.exec(
    bytes.subarray(0, 2048).toString('latin1'),
  )?.[1]
  for (const name of [charset, said ?? '', 'utf-8']) {
    try {
      if (name !== '') return new TextDecoder(name).decode(bytes)
    } catch {
      continue // an unknown encoding
    }
  }
  return bytes.toString('utf8')
}

/** Statuses that a browser would not show as a page become 502. */
const statusOf = (status: number): number => (status >= 200 && status < 600 && status !== 407 ? status : 502)

const BLOCKED = 'Its address is not one that this server may reach.'
const REFUSALS = {
  domain_not_authorised: [403, 'Its domain is not on the list of what the owner of this desk may automate.'],
  unknown_proxy: [502, 'The proxy of the task is not configured here any more.'],
  invalid_url: [400, 'Its address is not a URL that can be fetched.'],
  credentials_in_url: [400, 'Its address holds credentials.'],
  ambiguous_address: [403, BLOCKED],
  forbidden_address: [403, BLOCKED],
  unresolvable: [502, 'Its name cannot be resolved.'],
  timed_out: [504, 'The site did not answer in time.'],
  tls_error: [502, 'The site has no valid certificate.'],
  network_error: [502, 'The site cannot be reached.'],
  answer_too_large: [502, 'The answer is too large.'],
  unreadable: [502, 'The answer is packed in a way that cannot be read.'],
} as const satisfies Record<PageRefusal, readonly [status: number, text: string]>

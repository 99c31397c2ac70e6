// POST /tasks: a program asks for a person.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { idempotencyConflict, idempotencyOf } from '../../../core/http/request/idempotency.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { isCallableUrl } from '../../../core/outbound/callback-url.ts'
import { createTask, type CreateParts, type NewTask } from './create-store.ts'
import type { Desk } from '../desk.ts'
import { NO_PAGE, parsePage, type Page } from '../domains/domain.ts'
import { mayBeTask } from '../domains/domain-store.ts'
import { domainNotAuthorised, invalid, tooMany } from '../errors.ts'
import { FormBody, parseForm } from './form.ts'
import { deskGuard, type GuardParts } from '../guard.ts'
import type { Proxy } from '../domains/proxies.ts'
import { UserAgent } from '../solutions/solution.ts'
import { creatorView, TaskDetail } from './task-view.ts'

const METADATA_CHARS_MAX = 16_384
const SCRAPE_OPTIONS_CHARS_MAX = 16_384
const MINUTE = 60

const maybe = <S extends ReturnType<typeof Type.String>>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))

const TaskBody = Type.Object({
  url: Type.Optional(Type.String({ maxLength: 2048, description: 'Needed unless there is a form.' })),
  challenge_type: maybe(Type.String({ minLength: 1, maxLength: 100 })),
  error_message: maybe(Type.String({ maxLength: 4000 })),
  request_id: maybe(Type.String({ maxLength: 255 })),
  priority: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
  proxy_url: maybe(Type.String({ maxLength: 2048 })),
  user_agent: Type.Optional(Type.Union([UserAgent, Type.Null()])),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  scrape_options_json: Type.Optional(Type.Unknown({ description: 'Any JSON, kept and returned.' })),
  callback_url: maybe(Type.String({ maxLength: 2048, description: 'Gets a signed request when the task ends.' })),
  form: Type.Optional(FormBody),
})
type TaskBody = Static<typeof TaskBody>

export const createTaskRoute =
  (parts: GuardParts & CreateParts & Pick<Desk, 'database' | 'sealer' | 'proxies'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const summary = 'Create a task. The same open work of the same creator is the same task.'
    app.post(
      '/api/v1/captcha/tasks',
      {
        onRequest: deskGuard(parts, 'SCRAPER'),
        schema: {
          tags: ['desk'],
          summary,
          security: SECURED,
          body: TaskBody,
          response: { 201: TaskDetail, ...refusals(401, 403, 422, 429) },
        },
      },
      async (request, reply) => {
        const asked = parseTask(parts, request.body)
        if (asked instanceof HttpError) throw asked
        await checkDomain(parts, asked.page.domain)
        const { accountId, username } = accountOf(request)
        const created = await createTask(parts, {
          accountId,
          creator: username,
          trace: request.trace,
          idempotency: idempotencyOf(request, 'desk'),
          askedBy: null,
          ...asked,
        })
        if (!created.ok) throw idempotencyConflict()
        return reply.code(201).send(creatorView(parts, created.task))
      },
    )
  }

/** Only domains that the owner may automate, and at most CAPTCHA_DOMAIN_RATE_LIMIT tasks a minute of each. */
export async function checkDomain(
  { database, identity, settings }: Pick<Desk, 'database' | 'identity' | 'settings'>,
  domain: string,
): Promise<void> {
  if (!(await mayBeTask(database, domain))) throw domainNotAuthorised()
  const limit = { max: settings.CAPTCHA_DOMAIN_RATE_LIMIT, windowSec: MINUTE }
  const taken = await identity.takeRate(`desk domain ${domain}`, limit)
  if (!taken.ok) throw tooMany(taken.retryAfterSec)
}

type AskedTask = Omit<NewTask, 'accountId' | 'creator' | 'trace' | 'idempotency' | 'askedBy'>

export function parseTask(
  { proxies, settings }: Pick<Desk, 'proxies' | 'settings'>,
  body: TaskBody,
): AskedTask | HttpError {
  const page = pageOf(body)
  if (page === null) return invalid('url', 'must be an http or https URL with no credentials')
  const { metadata = {}, form, proxy_url: proxyUrl = null } = body
  if (JSON.stringify(metadata).length > METADATA_CHARS_MAX) return invalid('metadata', 'is too large')
  const { scrape_options_json: scrapeOptions = null, callback_url: callbackUrl = null } = body
  if (JSON.stringify(scrapeOptions).length > SCRAPE_OPTIONS_CHARS_MAX)
    return invalid('scrape_options_json', 'is too large')
  if (callbackUrl !== null && !isCallableUrl(callbackUrl, settings.ALLOW_INSECURE_CALLBACKS))
    return invalid('callback_url', 'must be an https URL without credentials')
  const proxy: Proxy | null = proxyUrl === null ? null : proxies.find(proxyUrl)
  if (proxyUrl !== null && proxy === null) return invalid('proxy_url', 'must be one of the configured proxies')
  const question = form === undefined ? null : parseForm(form)
  if (question instanceof HttpError) return question
  return {
    page,
    challengeType: body.challenge_type ?? null,
    errorMessage: body.error_message ?? null,
    requestId: body.request_id ?? null,
    priority: body.priority ?? settings.CAPTCHA_DEFAULT_PRIORITY,
    proxy,
    userAgent: body.user_agent ?? null,
    metadata,
    scrapeOptions,
    callbackUrl,
    question,
    isShared: question === null,
  }
}

/** A question needs no page. */
function pageOf({ url, form }: TaskBody): Page | null {
  if (url !== undefined) return parsePage(url)
  return form === undefined ? null : parsePage(NO_PAGE)
}

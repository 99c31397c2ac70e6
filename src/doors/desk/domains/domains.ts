// /domains: the domains that the owner of this deployment is authorised to automate.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import type { Desk } from '../desk.ts'
import { parseEntry } from './domain.ts'
import { allowDomain, listDomains, removeDomain, type AllowedDomain } from './domain-store.ts'
import { invalid } from '../errors.ts'
import { deskGuard, type GuardParts } from '../guard.ts'

const Entry = Type.Object({
  domain: Type.String(),
  reason: Type.String(),
  added_by: Type.String(),
  added_at: Type.String({ format: 'date-time' }),
})
const NewEntry = Type.Object({
  domain: Type.String({
    minLength: 1,
    maxLength: 300,
    description: 'A host, with its port if that is not the usual one; *.shop.org for all below shop.org.',
  }),
  reason: Type.String({ minLength: 1, maxLength: 2000, description: 'Why the owner may automate it.' }),
})

const LIMIT_MAX = 1000

const DomainsQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, description: `Default ${LIMIT_MAX}.` })),
  after: Type.Optional(Type.String({ maxLength: 300, description: 'The last domain of the page before.' })),
})
const DomainsPage = Type.Object({
  domains: Type.Array(Entry),
  next_after: Type.Union([Type.String(), Type.Null()]),
})

export const domainsRoute =
  (parts: GuardParts & Pick<Desk, 'database'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const secured = { tags: ['desk'], security: SECURED }
    const { database } = parts

    app.get(
      '/api/v1/captcha/domains',
      {
        onRequest: deskGuard(parts, 'ADMIN', 'OPERATOR', 'SCRAPER'),
        schema: {
          ...secured,
          summary: 'The domains that may be automated, with who said so, why and when.',
          querystring: DomainsQuery,
          response: { 200: DomainsPage, ...refusals(401, 403, 422) },
        },
      },
      async (request) => {
        const { limit = LIMIT_MAX, after = '' } = request.query
        const rows = await listDomains(database, { after, limit: limit + 1 })
        const domains = rows.slice(0, limit).map(viewOf)
        return { domains, next_after: rows.length > limit ? (domains.at(-1)?.domain ?? null) : null }
      },
    )

    app.post(
      '/api/v1/captcha/domains',
      {
        onRequest: deskGuard(parts, 'ADMIN'),
        schema: {
          ...secured,
          summary: 'Allow a domain.',
          body: NewEntry,
          response: { 201: Entry, ...refusals(401, 403, 422) },
        },
      },
      async (request, reply) => {
        const { domain, reason } = request.body
        const entry = parseEntry(domain)
        if (entry === null) throw invalid('domain', 'must be a host, or *. and a host of at least two parts')
        return reply
          .code(201)
          .send(viewOf(await allowDomain(database, { entry, reason, by: accountOf(request).username })))
      },
    )

    app.delete(
      '/api/v1/captcha/domains/:domain',
      {
        onRequest: deskGuard(parts, 'ADMIN'),
        schema: {
          ...secured,
          summary: 'Take a domain off the list.',
          params: Type.Object({ domain: Type.String({ maxLength: 512 }) }),
          response: { 200: Entry, ...refusals(401, 403, 404) },
        },
      },
      async (request) => {
        const entry = parseEntry(request.params.domain)
        const removed = entry === null ? null : await removeDomain(database, entry, accountOf(request).username)
        if (removed === null) throw new HttpError(404, 'not_found', 'The domain is not on the list')
        return viewOf(removed)
      },
    )
  }

const viewOf = ({ domain, reason, added_by: by, added_at: at }: AllowedDomain) => ({
  domain,
  reason,
  added_by: by,
  added_at: at.toISOString(),
})

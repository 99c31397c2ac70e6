// The OpenAPI description of all doors (/docs/json) and a page that shows it (/docs), without external resources.
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Type } from 'typebox'
import type { RequestGuard } from '../auth/guard.ts'

// Swagger UI sets style attributes; its scripts are served by this server.
const CSP = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self' 'unsafe-inline'`,
  `img-src 'self' data:`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'self'`,
  `frame-ancestors 'none'`,
].join('; ')

/** Named, since the plugin is bundled and has no folder of its own then. */
const UI_FILES = join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static')

/** Must precede the routes: only routes registered later are described. */
export async function openDocs(app: FastifyInstance, version: string, requireToken: RequestGuard): Promise<void> {
  let description: Buffer | null = null
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Reeve',
        version,
        description: 'Hands out work and accepts each result exactly once, whoever does the work.',
      },
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'A token from /auth/login or /api/auth/login.' },
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'A key from /auth/api-keys.' },
        },
      },
    },
  })
  // The WebSocket plugin hides its routes.
  app.addHook('onRoute', (route) => {
    if (route.websocket === true && route.schema !== undefined) route.schema = { ...route.schema, hide: false }
  })
  // The description is built and serialized once: it takes milliseconds, and anyone may ask.
  const answer = async (request: FastifyRequest, reply: FastifyReply, url: string) => {
    await requireToken(request)
    if (url !== '/docs/json') return undefined
    description ??= Buffer.from(JSON.stringify(app.swagger()))
    return reply.type('application/json; charset=utf-8').send(description)
  }
  // A promise only for these paths: the hook runs for every request.
  app.addHook('onRequest', (request, reply, done) => {
    const { url } = request.routeOptions
    if (url !== undefined && (url === '/docs' || url.startsWith('/docs/'))) return answer(request, reply, url)
    return done()
  })
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    baseDir: UI_FILES,
    logo: { type: 'image/svg+xml', content: await readFile(join(UI_FILES, 'logo.svg')) },
    staticCSP: CSP,
    validatorUrl: false,
    theme: { title: 'Reeve: API' },
    uiConfig: { docExpansion: 'none', deepLinking: true },
  })
}

/** The security of a route behind a guard. */
export const SECURED = [{ bearer: [] }, { apiKey: [] }]

/** The response of a WebSocket route to a client that may connect. */
export const UPGRADED = { 101: Type.Null({ description: 'The connection is upgraded to a WebSocket.' }) } as const

/** The response of a route that does not answer JSON. */
export const contentOf = (description: string, ...types: readonly string[]) => ({
  description,
  content: Object.fromEntries(
    types.map((type) => [type, { schema: Type.Unsafe<unknown>({ type: 'string', contentEncoding: 'binary' }) }]),
  ),
})

// CORS and HTTPS for this door's paths only. (@fastify/cors would answer OPTIONS for every path of the server.)
import type { FastifyInstance } from 'fastify'
import type { ChallengeSettings } from './settings.ts'

const MINUTES_10 = '600'

export function openTransport(app: FastifyInstance, settings: ChallengeSettings, paths: readonly string[]): void {
  const { CHALLENGE_CORS_ORIGIN: origin, HTTPS_ONLY: httpsOnly } = settings

  app.addHook('onRequest', (request, reply, done) => {
    if (origin !== 'none') {
      reply.header('access-control-allow-origin', origin).header('cross-origin-resource-policy', 'cross-origin')
      if (origin !== '*') reply.header('vary', 'Origin')
    }
    if (httpsOnly && request.protocol !== 'https') reply.redirect(`https://${request.host}${request.url}`, 308)
    else done()
  })

  if (origin === 'none') return
  for (const path of paths) {
    app.options(path, { schema: { hide: true } }, async (_request, reply) =>
      reply
        .code(204)
        .header('access-control-allow-methods', 'GET, POST, OPTIONS')
        .header('access-control-allow-headers', 'Authorization, Content-Type, X-API-Key, X-Request-ID, Idempotency-Key')
        .header('access-control-max-age', MINUTES_10)
        .send(),
    )
  }
}

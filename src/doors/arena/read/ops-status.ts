// GET /ops/status: counts for the operator of the server, protected by a token of its own.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { Failure, Success } from '../../../core/http/errors/envelope.ts'
import { socketsOf, type Live } from '../../../core/http/routes/metrics.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { isSameSecret } from '../../../core/http/auth/static-token.ts'
import { envelope } from '../errors.ts'

const Status = Success(
  Type.Object({
    activeSessions: Type.Integer(),
    queueLength: Type.Integer(),
    activeWebsocket: Type.Integer(),
    errorCount: Type.Integer(),
  }),
)

export interface OpsDeps {
  /** Empty: every request is refused. */
  opsToken: string
  count(): Promise<Live>
}

export const opsStatusRoute =
  ({ opsToken, count }: OpsDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/ops/status',
      {
        config: { quiet: true },
        onRequest: async (request) => {
          const given = request.headers['x-ops-token']
          if (typeof given !== 'string' || opsToken === '' || !isSameSecret(given, opsToken)) {
            throw new HttpError(401, 'unauthorized', '')
          }
        },
        schema: {
          tags: ['arena'],
          summary: 'Counts of sessions, queue, WebSockets and errors.',
          response: { 200: Status, 401: Failure },
        },
      },
      async (_request, reply) => {
        const { sessions, queue } = await count()
        return reply.send(
          envelope.success({
            activeSessions: sessions,
            queueLength: queue,
            activeWebsocket: socketsOf(app),
            errorCount: app.httpTotals().errors,
          }),
        )
      },
    )
  }

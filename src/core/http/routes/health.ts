// /healthz: the process is alive. /readyz: its dependencies work. /api/health: the same as /readyz, in the envelope.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Logger } from 'pino'
import { Type } from 'typebox'
import { Failure, Success, type EnvelopeFormat } from '../errors/envelope.ts'
import type { Database } from '../../db/database.ts'
import type { Feed } from '../../feed/feed.ts'
import type { FileStore } from '../../files/file-store.ts'
import { withTimeout } from '../../concurrency/waiter.ts'

/** The version of the /api/ interface, which clients compare. */
const API_VERSION = 'v1.1.0'
const CHECK_WITHIN_MS = 2000
const CHECK_KEPT_MS = 1000

export type Checks = Readonly<Record<string, () => Promise<unknown>>>
export type Readiness = Readonly<Record<string, 'ok' | 'failed'>>

const Ready = Type.Object({
  status: Type.Union([Type.Literal('ready'), Type.Literal('draining'), Type.Literal('unavailable')]),
  checks: Type.Record(Type.String(), Type.Union([Type.Literal('ok'), Type.Literal('failed')])),
})
const Alive = Type.Object({ status: Type.Literal('ok') })
const Health = Success(Type.Object({ status: Type.Literal('ok'), version: Type.String() }))

export interface HealthDeps {
  readiness: () => Promise<Readiness>
  draining: AbortSignal
  envelope: EnvelopeFormat
}

export const healthRoutes =
  ({ readiness, draining, envelope }: HealthDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const config = { quiet: true }
    const tags = ['health']

    app.get(
      '/healthz',
      {
        config,
        schema: {
          tags,
          summary: 'Is the process alive?',
          response: { 200: Alive },
        },
      },
      async () => ({ status: 'ok' as const }),
    )

    app.get(
      '/health',
      { config, schema: { tags, summary: 'The same as /healthz.', response: { 200: Alive } } },
      async () => ({ status: 'ok' as const }),
    )

    app.get(
      '/readyz',
      { config, schema: { tags, summary: 'Are its dependencies reachable?', response: { 200: Ready, 503: Ready } } },
      async (_request, reply) => {
        const checks = await readiness()
        if (draining.aborted) return reply.code(503).send({ status: 'draining', checks })
        if (isReady(checks)) return reply.send({ status: 'ready', checks })
        return reply.code(503).send({ status: 'unavailable', checks })
      },
    )

    app.get(
      '/api/health',
      {
        config,
        schema: {
          tags,
          summary: 'Are its dependencies reachable? In the envelope.',
          response: { 200: Health, 503: Failure },
        },
      },
      async (request, reply) => {
        if (isReady(await readiness())) {
          return reply.send(envelope.success({ status: 'ok', version: API_VERSION }))
        }
        const report = { status: 503, code: 'unavailable', message: '', requestId: request.id }
        const acceptLanguage = request.headers['accept-language'] ?? ''
        return reply.code(503).send(envelope.errorBody({ ...report, acceptLanguage }))
      },
    )
  }

const isReady = (checks: Readiness): boolean => Object.values(checks).every((state) => state === 'ok')

/** What a process of any role needs. */
export const partChecks = ({ database, feed, files }: CheckedParts): Checks => ({
  database: () => database.query('select 1'),
  feed: () => feed.check(),
  files: () => files.check(),
})

export interface CheckedParts {
  database: Pick<Database, 'query'>
  feed: Pick<Feed, 'check'>
  files: Pick<FileStore, 'check'>
}

/** Anyone may ask, and a check costs a query: requests within a second share one. */
export function openReadiness(checks: Checks, log: Logger): () => Promise<Readiness> {
  let current: { at: number; result: Promise<Readiness> } | null = null

  return () => {
    const now = performance.now()
    if (current === null || now - current.at > CHECK_KEPT_MS) current = { at: now, result: runChecks(checks, log) }
    return current.result
  }
}

async function runChecks(checks: Checks, log: Logger): Promise<Readiness> {
  const states = await Promise.all(
    Object.entries(checks).map(async ([part, check]) => {
      try {
        await withTimeout(check(), CHECK_WITHIN_MS, `No answer within ${CHECK_WITHIN_MS} ms.`)
        return [part, 'ok'] as const
      } catch (error) {
        log.warn({ part, err: error }, 'not ready')
        return [part, 'failed'] as const
      }
    }),
  )
  return Object.fromEntries(states)
}

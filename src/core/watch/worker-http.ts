// The port of a process that only works: /healthz, /readyz and /metrics, for whoever watches it. It has no door.
//
// Several workers of one machine share METRICS_PORT: each takes the first port from there on that is free.
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { systemClock } from '../clock.ts'
import { openApp } from '../http/app.ts'
import { openClosing } from '../http/closing.ts'
import { requireStaticToken } from '../http/auth/static-token.ts'
import { detailBody } from '../http/errors/detail.ts'
import { openEnvelope } from '../http/errors/envelope.ts'
import { HttpError } from '../http/errors/http-error.ts'
import { healthRoutes, openReadiness, type Checks } from '../http/routes/health.ts'
import { textRoutes } from '../http/routes/metrics.ts'
import { addressOf } from '../http/server.ts'
import type { Metrics } from '../metrics.ts'
import { StartError } from '../start-error.ts'
import { codeOf } from '../values/error-code.ts'

const PORTS_MAX = 16
const CLOSE_MS = 1000 // it has drained already

export interface WorkerHttp {
  /** Resolves to where it listens. */
  listen(): Promise<string>
  /** /readyz answers 503 from now on. */
  drain(): void
  close(): Promise<void>
}

interface WorkerHttpDeps {
  config: Config
  metrics: Metrics
  checks: Checks
  log: Logger
}

export async function openWorkerHttp({ config, metrics, checks, log }: WorkerHttpDeps): Promise<WorkerHttp> {
  const draining = new AbortController()
  const format = { paths: [], errorBody: detailBody, validationStatus: 422 as const }
  const app = await openApp({ config, log, formatOf: () => format })
  const closeWithin = openClosing(app)
  app.setNotFoundHandler(() => {
    throw new HttpError(404, 'not_found', 'Not Found')
  })
  const readiness = openReadiness(checks, log)
  await app.register(healthRoutes({ readiness, draining: draining.signal, envelope: openEnvelope(systemClock) }))
  await app.register(textRoutes(['/metrics', '/metrics/prometheus'], metrics, requireStaticToken(config.METRICS_TOKEN)))
  await app.ready()

  const { SERVER_HOST: host, METRICS_PORT: first } = config
  const tries = first === 0 ? [0] : Array.from({ length: PORTS_MAX }, (_, index) => first + index)
  return {
    async listen() {
      for (const port of tries.filter((one) => one <= 65_535)) {
        try {
          await app.listen({ host, port })
          return addressOf(app)
        } catch (error) {
          if (codeOf(error) === 'EADDRINUSE') continue
          const why = error instanceof Error ? error.message : String(error)
          throw new StartError(`Cannot listen on ${host}:${port}: ${why}. Set SERVER_HOST or METRICS_PORT.`)
        }
      }
      throw new StartError(`All of the ${tries.length} ports from ${first} on are taken. Set METRICS_PORT.`)
    },
    drain: () => draining.abort(),
    close: () => closeWithin(CLOSE_MS),
  }
}

// The security headers of helmet, the same for every answer. Its plugin computes them per request, which took a tenth of the
// time of a small request: so they are computed once and kept.
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'

/** No page of this server uses any of these. */
const PERMISSIONS_POLICY = ['camera', 'display-capture', 'geolocation', 'microphone', 'payment', 'usb']
  .map((feature) => `${feature}=()`)
  .join(', ')

type SecurityHeaders = Readonly<Record<string, string>>

export async function openSecurityHeaders(app: FastifyInstance, config: Config): Promise<void> {
  await app.register(helmet, { ...helmetOptions(config), global: false })
  let kept: SecurityHeaders | null = null
  app.addHook('onRequest', (_request, reply, done) => {
    if (kept === null) {
      reply.helmet()
      reply.raw.setHeader('permissions-policy', PERMISSIONS_POLICY)
      kept = stringsOf(reply.raw.getHeaders())
    } else {
      reply.headers(kept)
    }
    done()
  })
}

/** Pages set their own policy. HSTS only where PUBLIC_URL is https, since it disables plain http. */
const helmetOptions = (config: Config) => ({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: [`'none'`], frameAncestors: [`'none'`], baseUri: [`'none'`], formAction: [`'none'`] },
  },
  crossOriginEmbedderPolicy: false,
  hsts: config.PUBLIC_URL.startsWith('https:'),
  xFrameOptions: { action: 'deny' as const },
  referrerPolicy: { policy: 'no-referrer' as const },
})

const stringsOf = (headers: object): SecurityHeaders =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

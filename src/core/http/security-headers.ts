// Security headers are the same for every answer, and helmet knows them. Its plugin works them out anew for each request,
// which was a tenth of what a small request costs: so they are asked for once and kept.
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'

type Headers = Readonly<Record<string, string>>

export async function openSecurityHeaders(app: FastifyInstance, config: Config): Promise<void> {
  await app.register(helmet, { ...helmetOptions(config), global: false })
  let kept: Headers | null = null
  app.addHook('onRequest', async (_request, reply) => {
    if (kept !== null) {
      reply.headers(kept)
      return
    }
    reply.helmet()
    kept = stringsOf(reply.raw.getHeaders())
  })
}

/** Pages set a stricter policy of their own. HSTS only where the public address is https: it would lock out plain http. */
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

const stringsOf = (headers: object): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

// Checks of the Host header: exactly one, and one of ALLOWED_HOSTS where that is set. A second Host header may be read by a
// proxy and ignored by the server; an unknown name may be an attack on a visitor's browser (DNS rebinding).
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { HttpError } from './errors/http-error.ts'

export function checkHost(app: FastifyInstance, config: Pick<Config, 'ALLOWED_HOSTS' | 'PUBLIC_URL'>): void {
  const publicHost = URL.canParse(config.PUBLIC_URL) ? [new URL(config.PUBLIC_URL).hostname] : []
  const allowed = new Set([...config.ALLOWED_HOSTS.map((host) => host.toLowerCase()), ...publicHost])

  app.addHook('onRequest', (request, _reply, done) => {
    if (hostHeaders(request.raw) > 1) throw new HttpError(400, 'bad_request', 'The request has two Host headers.')
    if (config.ALLOWED_HOSTS.length > 0 && !allowed.has(request.hostname.toLowerCase()))
      throw new HttpError(421, 'misdirected_request', 'This server does not answer for that host.')
    done()
  })
}

function hostHeaders({ rawHeaders }: IncomingMessage): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') count += 1
  }
  return count
}

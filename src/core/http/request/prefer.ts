// `Prefer: wait=N` (RFC 7240): the caller waits up to N seconds for an end instead of polling.
import type { FastifyReply, FastifyRequest } from 'fastify'

const WAIT_SEC_MAX = 50 // below the usual 60 s of proxies

const WAIT = /(?:^|[,;\s])wait="?(\d{1,6})"?(?=$|[,;\s])/i

/** Zero: answer at once, as a stopping server does. */
export function preferredWaitMs(request: FastifyRequest): number {
  if (request.server.draining.aborted) return 0
  const header = request.headers.prefer
  const seconds = WAIT.exec(Array.isArray(header) ? header.join(',') : (header ?? ''))?.[1]
  return seconds === undefined ? 0 : Math.min(Number(seconds), WAIT_SEC_MAX) * 1000
}

/** Aborts when the client disconnects or the server stops. */
export function waitSignal(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const { draining } = request.server
  const controller = new AbortController()
  const abort = () => controller.abort()
  draining.addEventListener('abort', abort)
  reply.raw.once('close', () => {
    draining.removeEventListener('abort', abort)
    if (!reply.raw.writableFinished) abort() // an answered request waits for nothing; an abort costs an exception
  })
  return controller.signal
}

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
  const controller = new AbortController()
  const waiting = waitingOf(request.server.draining)
  waiting.add(controller)
  reply.raw.once('close', () => {
    waiting.delete(controller)
    if (!reply.raw.writableFinished) controller.abort() // an answered request waits for nothing; an abort costs an exception
  })
  return controller.signal
}

const waitingUntil = new WeakMap<AbortSignal, Set<AbortController>>()

/** A signal looks through all its listeners to add or to remove one: thousands of requests share one listener. */
function waitingOf(draining: AbortSignal): Set<AbortController> {
  const known = waitingUntil.get(draining)
  if (known !== undefined) return known
  const waiting = new Set<AbortController>()
  waitingUntil.set(draining, waiting)
  draining.addEventListener('abort', () => waiting.forEach((controller) => controller.abort()), { once: true })
  return waiting
}

// `Prefer: wait=N` (RFC 7240): the caller waits up to N seconds for an end instead of polling.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { RequestStop, type StopSignal } from '../../concurrency/stop-signal.ts'

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
export function waitSignal(request: FastifyRequest, reply: FastifyReply): StopSignal {
  const stop = new RequestStop()
  const waiting = waitingOf(request.server.draining)
  waiting.add(stop)
  reply.raw.once('close', () => {
    waiting.delete(stop)
    if (!reply.raw.writableFinished) stop.abort() // an answered request waits for nothing
  })
  return stop
}

const waitingUntil = new WeakMap<AbortSignal, Set<RequestStop>>()

/** A signal looks through all its listeners to add or to remove one: thousands of requests share one listener. */
function waitingOf(draining: AbortSignal): Set<RequestStop> {
  const known = waitingUntil.get(draining)
  if (known !== undefined) return known
  const waiting = new Set<RequestStop>()
  waitingUntil.set(draining, waiting)
  draining.addEventListener('abort', () => waiting.forEach((stop) => stop.abort()), { once: true })
  return waiting
}

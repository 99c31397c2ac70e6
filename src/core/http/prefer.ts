// `Prefer: wait=N` (RFC 7240): the caller would rather wait up to N seconds for an end than ask again and again.
import type { FastifyReply, FastifyRequest } from 'fastify'

export const WAIT_SEC_MAX = 50 // below the usual 60 s of proxies

const WAIT = /(?:^|[,;\s])wait="?(\d{1,6})"?(?=$|[,;\s])/i

/** Zero: answer at once. */
export function preferredWaitMs(request: FastifyRequest): number {
  const header = request.headers.prefer
  const seconds = WAIT.exec(Array.isArray(header) ? header.join(',') : (header ?? ''))?.[1]
  return seconds === undefined ? 0 : Math.min(Number(seconds), WAIT_SEC_MAX) * 1000
}

/** Aborts when there is nobody left to answer, or when the server stops and answers with what there is. */
export function waitSignal(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  return AbortSignal.any([gone.signal, request.server.draining])
}

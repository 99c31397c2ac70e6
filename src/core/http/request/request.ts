// Declares what the server adds to Fastify's request, route and instance.
import type { IncomingMessage } from 'node:http'
import type { Account } from '../../identity/accounts.ts'
import type { Credential } from '../../identity/secrets.ts'
import type { Role } from '../../identity/role.ts'
import { newJobId, newTraceId } from '../../random.ts'
import type { Origins } from '../auth/origins.ts'
import type { Hub } from '../sockets/hub.ts'
import type { LiveCounts } from '../routes/metrics.ts'
import type { RequestTrace } from '../../traces/context.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated account; set by a guard. */
    account: Account | null
    /** The credential of the account; set by a guard. */
    credential: Credential | null
    /** Where its jobs come from. */
    readonly trace: RequestTrace
    /** Of a WebSocket: it ends when the account has none of these. Empty: any account. */
    socketRoles: readonly Role[] | null
    /** The raw body, for hashes and signatures. Null: no body, or a streamed one. */
    rawBody: Buffer | null
  }
  interface FastifyContextConfig {
    /** Time in which the body must arrive. Default 30 s. */
    bodyTimeoutMs?: number
    /** Logged at debug level: polled by machines every few seconds. */
    quiet?: boolean
    /** A WebSocket that ends when the roles of its account change. */
    endsWithRoles?: boolean
    /** Takes JSON for others and passes it on as text: any key is allowed, and an exceeded limit is a validation error. */
    passesJsonOn?: boolean
    /** Set by the server for routes with `websocket: true`. */
    speaksWebSocket?: boolean
  }
  interface FastifyInstance {
    hub: Hub
    origins: Origins
    liveCounts: LiveCounts
    /** Requests answered by this process, and how many of them with a 4xx or 5xx. */
    httpTotals: () => { total: number; errors: number }
    /** Aborts when the server begins to stop, so that waiting requests answer with the current state. */
    draining: AbortSignal
  }
}

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:$|-)/

/** The caller's id, if it is safe to log, so that both sides can search for the same id. */
export function requestIdOf(raw: Pick<IncomingMessage, 'headers'>): string {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : newJobId()
}

const traces = new WeakMap<IncomingMessage, RequestTrace>()

/** The caller's trace (W3C traceparent), or a new one. */
export function traceOf(raw: IncomingMessage): RequestTrace {
  const known = traces.get(raw)
  if (known !== undefined) return known
  const given = raw.headers.traceparent
  const [, traceId = newTraceId(), callerSpanId = null] =
    (typeof given === 'string' ? TRACEPARENT.exec(given) : null) ?? []
  const trace = { traceId, callerSpanId, caused: [] }
  traces.set(raw, trace)
  return trace
}

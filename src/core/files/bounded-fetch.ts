import { setTimeout as sleep } from 'node:timers/promises'
import { jitter } from '../random.ts'

const FIRST_WAIT_MS = 200
const PASSING = new Set([429, 500, 502, 503, 504])

export interface FetchLimits {
  attemptsMax: number
  /** From the start of a request, with its body, to the head of its answer. */
  answerMsMax: number
  /** Of all attempts together. A client's connection ends after two minutes of silence: it is answered before. */
  totalMsMax: number
}

/** The code under which the network's own timeouts are known, too. */
class NoAnswer extends Error {
  readonly code = 'ETIMEDOUT'
}

/**
 * Fetch with a time-out, and with retries of errors that may pass. Bodies must be replayable: buffers, no streams.
 * The body of a response may take any time while bytes arrive; Node ends it after 5 minutes of silence.
 */
export function boundedFetch(limits: FetchLimits): typeof fetch {
  return async (input, init) => {
    const endsAt = performance.now() + limits.totalMsMax
    const leftMs = () => endsAt - performance.now()
    for (let attempt = 1; ; attempt += 1) {
      const waitMs = jitter(FIRST_WAIT_MS * 2 ** (attempt - 1), 0.5)
      const isLast = () => attempt === limits.attemptsMax || leftMs() <= waitMs
      try {
        const response = await answered(input, init, Math.min(limits.answerMsMax, leftMs()))
        if (!PASSING.has(response.status) || isLast()) return response
        await response.body?.cancel()
      } catch (error) {
        if (isLast()) throw error
      }
      await sleep(waitMs)
    }
  }
}

async function answered(...[input, init, answerMsMax]: [...Parameters<typeof fetch>, number]): Promise<Response> {
  const patience = new AbortController()
  const timer = setTimeout(() => patience.abort(new NoAnswer(`No answer in ${answerMsMax} ms`)), answerMsMax)
  const headers = new Headers(init?.headers)
  headers.set('accept-encoding', 'identity') // a proxy that compresses would take away the length
  try {
    return await fetch(input, { ...init, headers, signal: patience.signal })
  } finally {
    clearTimeout(timer)
  }
}

// Signed requests as the bytes that go over the wire. They are made before the clock runs: signing is the client's work.
import { randomUUID } from 'node:crypto'
import { authorization } from '@reeve/sdk/challenge'
import { SOLVER_KEY } from './settings.ts'

export interface RequestsOptions {
  count: number
  /** Where the callback of a challenge goes. */
  callbackUrl: (challengeId: string) => string
  challengeId?: (index: number) => string
}

export function solveRequests(options: RequestsOptions): Buffer[] {
  const { count, callbackUrl, challengeId = () => randomUUID() } = options
  const ts = Math.floor(Date.now() / 1000)
  return Array.from({ length: count }, (_, index) => {
    const id = challengeId(index)
    const body = JSON.stringify({
      api_version: 'v2.1',
      challenge_id: id,
      problem: { type: 'math', expression: `17*23+${index}` },
      output_spec: {},
      constraints: { timeout_ms: 1000 },
      callback_url: callbackUrl(id),
    })
    const header = authorization(SOLVER_KEY, { method: 'POST', path: '/solve', ts, nonce: randomUUID(), body })
    return Buffer.from(
      `POST /solve HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: ${header}\r\n` +
        `X-Request-ID: ${randomUUID()}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  })
}

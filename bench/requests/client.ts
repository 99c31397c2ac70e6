// One request after the other over one connection, which tells how many bytes went over it.
import { Agent, request as httpRequest } from 'node:http'
import type { Teardown } from '../teardown.ts'

export interface Answered<Body> {
  body: Body
  sentBytes: number
  receivedBytes: number
}

export interface AskOptions {
  body?: unknown
  headers?: Readonly<Record<string, string>>
  /** Instead of the account's: a signature, or the token of somebody else. */
  authorization?: string
}

export type Ask = <Body>(method: string, path: string, options?: AskOptions) => Promise<Answered<Body>>

/** Rejects where an answer is not a 2xx. */
export function openAsk(url: string, token: string, teardown: Teardown): Ask {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  teardown.add(async () => agent.destroy())
  const { hostname, port } = new URL(url)
  let soFar = { sent: 0, received: 0 }
  return <Body>(method: string, path: string, options: AskOptions = {}) =>
    new Promise<Answered<Body>>((resolve, reject) => {
      const { body, headers = {}, authorization = `Bearer ${token}` } = options
      const bytes = bodyOf(body)
      const type = bytes === null ? {} : { 'content-type': 'application/json', 'content-length': bytes.length }
      const all = { ...type, ...headers, authorization }
      const sent = httpRequest({ hostname, port, method, path, agent, headers: all }, (answer) => {
        const { socket } = answer // the agent takes it back at the end
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          const { bytesWritten, bytesRead } = socket
          if (bytesRead < soFar.received) soFar = { sent: 0, received: 0 } // another connection
          const [sentBytes, receivedBytes] = [bytesWritten - soFar.sent, bytesRead - soFar.received]
          soFar = { sent: bytesWritten, received: bytesRead }
          const text = Buffer.concat(chunks).toString()
          const status = answer.statusCode ?? 0
          if (status < 200 || status > 299) reject(new Error(`${method} ${path}: ${status} ${text.slice(0, 500)}`))
          else resolve({ body: text === '' ? null : JSON.parse(text), sentBytes, receivedBytes })
        })
      })
      sent.on('error', reject)
      sent.end(bytes ?? undefined)
    })
}

function bodyOf(body: unknown): Buffer | null {
  if (body === undefined) return null
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

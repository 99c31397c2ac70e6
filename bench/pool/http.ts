// Plain requests over kept connections: fetch would cost more than what is measured.
import { Agent, request as httpRequest } from 'node:http'

export interface Answer<Body> {
  status: number
  body: Body
}

export interface Http {
  post<Body = unknown>(path: string, body: unknown, headers: Record<string, string>): Promise<Answer<Body>>
  get<Body = unknown>(path: string, headers: Record<string, string>): Promise<Answer<Body>>
  close(): void
}

export function openHttp(url: string): Http {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: Infinity })
  const { hostname, port } = new URL(url)
  const ask = <Body>(method: string, path: string, text: string | null, headers: Record<string, string>) =>
    new Promise<Answer<Body>>((resolve, reject) => {
      const type =
        text === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
      const sent = httpRequest({ hostname, port, method, path, agent, headers: { ...headers, ...type } }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const said = Buffer.concat(chunks).toString()
          resolve({ status: answer.statusCode ?? 0, body: said === '' ? null : JSON.parse(said) })
        })
        answer.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(text ?? undefined)
    })
  return {
    post: (path, body, headers) => ask('POST', path, JSON.stringify(body), headers),
    get: (path, headers) => ask('GET', path, null, headers),
    close: () => agent.destroy(),
  }
}

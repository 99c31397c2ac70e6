// A site for the frame to show, and somebody who asks the frame for it.
import http from 'node:http'
import type { TestContext } from 'node:test'
import { listen } from '../../support/listen.ts'

/** A site of the world, on the loopback. */
export async function startSite(t: TestContext, answer: http.RequestListener) {
  const requests: { method: string; url: string; headers: http.IncomingHttpHeaders; body: string }[] = []
  let connections = 0
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
    answer(request, response)
  })
  server.on('connection', () => (connections += 1))
  const port = await listen(t, server)
  return { port, domain: `127.0.0.1:${port}`, requests, connections: () => connections }
}

interface Framed {
  status: number
  headers: http.IncomingHttpHeaders
  text: string
}

/** As a browser would ask the frame's host, which nobody's resolver needs to know. */
export function ask(
  at: string,
  url: string,
  options: { method?: string; headers?: object; body?: string } = {},
): Promise<Framed> {
  const target = new URL(url, at)
  const { port } = new URL(at)
  const { method = 'GET', headers = {}, body = '' } = options
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        host: '127.0.0.1',
        port,
        path: target.pathname + target.search,
        method,
        headers: { host: target.host, ...headers },
      },
      async (response) => {
        let text = ''
        for await (const chunk of response) text += String(chunk)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

// A network that loses the first submit: its request or its answer.
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { listen } from '../../support/listen.ts'

/** So late that the SDK's worker takes its lease for short and sends heartbeats several times a second. */
const LATE = new Date('2100-01-01').toUTCString()

export interface Loss {
  /** Sends the submit to the server. */
  forward(): Promise<void>
  /** Resolves once a heartbeat was answered that the assignment is cancelled. */
  cancelled: Promise<void>
  /** Heartbeats are answered so from now on, whatever the server says. */
  cancel(): void
}

/** `lose` is called with the first submit. When it resolves, the connection is cut. */
export async function startLossyProxy(t: TestContext, url: string, lose: (loss: Loss) => Promise<void>) {
  let isLost = false
  let claimed: number | null = null
  let tell = () => {}
  const told = new Promise<void>((resolve) => (tell = resolve))
  const pass = async (path: string, headers: IncomingHttpHeaders, body: string) => {
    const { 'content-type': type = '', prefer } = headers
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': type,
        ...credentialsOf(headers),
        ...(prefer === undefined ? {} : { prefer: `${prefer}` }),
      },
      body,
    })
    return { status: response.status, body: await response.text() }
  }
  const server = createServer(async (request, response) => {
    const { url: path = '', headers } = request
    const body = await text(request)
    if (path === '/jobs/submit' && !isLost) {
      isLost = true
      await lose({
        forward: async () => void (await pass(path, headers, body)),
        cancelled: told,
        cancel: () => (claimed = JSON.parse(body).assignment_id),
      })
      return void request.socket.destroy()
    }
    const answer = await pass(path, headers, body).catch(() => null)
    if (answer === null) return void request.socket.destroy() // the server has stopped: the caller's connection breaks as its own did
    if (path === '/workers/heartbeat') {
      const beat = JSON.parse(answer.body)
      if (claimed !== null) answer.body = JSON.stringify({ ...beat, cancelled: [claimed] })
      if (claimed !== null || beat.cancelled !== undefined) response.on('finish', tell)
    }
    response.writeHead(answer.status, { 'content-type': 'application/json', date: LATE }).end(answer.body)
  })
  const port = await listen(t, server)
  return `http://127.0.0.1:${port}`
}

function credentialsOf({ authorization, 'x-api-key': key }: IncomingHttpHeaders): Record<string, string> {
  return authorization === undefined ? { 'x-api-key': String(key) } : { authorization }
}

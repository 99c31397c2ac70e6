// A client that resolves and dials by itself would go around the guard. So it is given no way out but this: a proxy on the
// loopback, for this process only, that connects where the guard and the list of domains allow it, to the address that was
// checked.
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Dial, Outbound } from '../../../core/outbound/outbound.ts'
import { newSecret } from '../../../core/random.ts'

const CONNECTIONS_MAX = 256

export interface CheckedProxyOptions {
  outbound: Pick<Outbound, 'check'>
  mayFetch(domain: string): Promise<boolean>
  /** Another way than straight on, by its name. */
  dialOf(way: string): Dial | null
  timeoutMs: number
}

export interface CheckedProxy {
  /** What the client is told. `way` is `direct`, or the id of a configured proxy. */
  urlFor(way: string): string
  close(): Promise<void>
}

export async function openCheckedProxy(options: CheckedProxyOptions): Promise<CheckedProxy> {
  const secret = newSecret()
  const server = http.createServer((_request, response) => response.writeHead(405).end())
  server.maxConnections = CONNECTIONS_MAX
  const open = new Set<Duplex>()
  server.on('connect', (request: http.IncomingMessage, client: Duplex, head: Buffer) => {
    open.add(client)
    client.once('close', () => open.delete(client))
    client.on('error', () => client.destroy())
    tunnel(options, secret, request, client, head).catch(() => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = addressOf(server.address())

  return {
    urlFor: (way) => `http://${encodeURIComponent(way)}:${secret}@127.0.0.1:${port}`,
    async close() {
      for (const client of open) client.destroy()
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function tunnel(
  options: CheckedProxyOptions,
  secret: string,
  request: http.IncomingMessage,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  const way = wayOf(request.headers['proxy-authorization'], secret)
  if (way === null) return refuse(client, '407 Proxy Authentication Required')
  const signal = AbortSignal.timeout(options.timeoutMs)
  const target = `https://${request.url ?? ''}/`
  const domain = URL.canParse(target) ? new URL(target).host : ''
  if (!(await options.mayFetch(domain))) return refuse(client, '403 Forbidden')
  const checked = await options.outbound.check(target, { signal })
  if (!checked.ok) return refuse(client, '403 Forbidden')

  const dial = way === 'direct' ? straight : options.dialOf(way)
  if (dial === null) return refuse(client, '403 Forbidden')
  const upstream = await dial(checked.to, signal)
  upstream.on('error', () => client.destroy())
  upstream.once('close', () => client.destroy())
  client.once('close', () => upstream.destroy())
  client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
  if (head.length > 0) upstream.write(head)
  upstream.pipe(client).pipe(upstream)
}

const straight: Dial = async ({ address, port }, signal): Promise<Socket> => {
  const socket = net.connect({ host: address, port })
  const stop = () => socket.destroy(new Error('It took too long.'))
  signal.addEventListener('abort', stop, { once: true })
  await once(socket, 'connect')
  signal.removeEventListener('abort', stop)
  return socket
}

/** Null: not our client. */
function wayOf(header: string | undefined, secret: string): string | null {
  const credentials = Buffer.from((header ?? '').replace(/^Basic /i, ''), 'base64').toString()
  const [way = '', given = ''] = credentials.split(':')
  return given === secret ? decodeURIComponent(way) : null
}

function refuse(client: Duplex, status: string): void {
  client.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`)
}

function addressOf(address: string | AddressInfo | null): AddressInfo {
  if (address === null || typeof address === 'string') throw new Error('The checked proxy does not listen.')
  return address
}

// One of the configured proxies, asked to connect to an address that the guard has checked: it is given the address, not the
// name, so that it cannot find another one. (Some proxies connect to port 443 only.)
import { once } from 'node:events'
import net, { type Socket } from 'node:net'
import tls from 'node:tls'
import type { Dial } from '../../../core/outbound/outbound.ts'

const HEAD_BYTES_MAX = 16_384

export const dialThrough =
  (proxyUrl: string): Dial =>
  async ({ address, port }, signal) => {
    const proxy = new URL(proxyUrl)
    const socket = await connect(proxy, signal)
    try {
      const target = `${address.includes(':') ? `[${address}]` : address}:${port}`
      socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization(proxy)}\r\n`)
      const head = await readHead(socket)
      if (!/^HTTP\/1\.[01] 2\d\d /.test(head)) throw new Error('The proxy refused to connect.')
      return socket
    } catch (error) {
      socket.destroy()
      throw error
    }
  }

async function connect(proxy: URL, signal: AbortSignal): Promise<Socket> {
  const host = proxy.hostname.replace(/^\[(.*)\]$/, '$1')
  const isTls = proxy.protocol === 'https:'
  const port = Number(proxy.port) || (isTls ? 443 : 80)
  const socket = isTls ? tls.connect({ host, port, servername: host }) : net.connect({ host, port })
  const stop = () => socket.destroy(new Error('It took too long.'))
  signal.addEventListener('abort', stop, { once: true })
  socket.once('close', () => signal.removeEventListener('abort', stop))
  await once(socket, isTls ? 'secureConnect' : 'connect')
  return socket
}

function authorization(proxy: URL): string {
  if (proxy.username === '') return ''
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  return `Proxy-Authorization: Basic ${Buffer.from(credentials).toString('base64')}\r\n`
}

/** Up to the empty line; what the other side sent beyond it is put back. */
async function readHead(socket: Socket): Promise<string> {
  let head = Buffer.alloc(0)
  for (;;) {
    const chunk: Buffer | null = socket.read()
    if (chunk === null) {
      await once(socket, 'readable')
      if (socket.readableEnded || socket.destroyed) throw new Error('The proxy hung up.')
      continue
    }
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end !== -1) {
      const rest = head.subarray(end + 4)
      if (rest.length > 0) socket.unshift(rest)
      return head.subarray(0, end).toString('latin1')
    }
    if (head.length > HEAD_BYTES_MAX) throw new Error('The proxy said too much.')
  }
}

// One address in front of the servers that are running: each connection goes to one of them, in turn.
import { once } from 'node:events'
import net from 'node:net'

export interface Balancer {
  url: string
  add(port: number): void
  remove(port: number): void
  close(): Promise<void>
}

export async function openBalancer(): Promise<Balancer> {
  const ports: number[] = []
  const sockets = new Set<net.Socket>()
  const server = net.createServer((client) => {
    const port = ports.shift()
    if (port === undefined) return client.destroy()
    ports.push(port)
    const upstream = net.connect({ host: '127.0.0.1', port })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}) // its end closes the other one
      socket.once('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.pipe(client)
    return undefined
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    add: (port) => void ports.push(port),
    remove: (port) => void ports.splice(ports.indexOf(port), 1),
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}

// A TCP proxy that a test can make drop packets silently: every connection stays open, and nothing arrives any more. What was
// dropped stays lost, so a connection of that time is dead for good; new ones work once the network is whole again.
import { once } from 'node:events'
import net, { type Socket } from 'node:net'
import { atEnd, type Scope } from './cleanup.ts'

export interface Proxy {
  port: number
  /** Drops everything, in both directions, without closing anything. */
  partition(): void
  heal(): void
  /** Called with each message to the server; what is returned true for is delivered, and its connection then closed. */
  cutAfter(isLast: (bytes: Buffer) => boolean): void
}

/** Reads along on one connection. */
export interface Tap {
  toServer(bytes: Buffer): void
  /** False: these bytes and all that follow on this connection are lost. */
  toClient(bytes: Buffer): boolean
}

const NO_TAP: Tap = { toServer: () => {}, toClient: () => true }

export async function startProxy(
  t: Scope,
  target: net.NetConnectOpts,
  openTap: () => Tap = () => NO_TAP,
): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const dead = new WeakSet<Socket>()
  let isPartitioned = false
  let isLast: (bytes: Buffer) => boolean = () => false

  const pass = (from: Socket, to: Socket, tap: Tap, toServer: boolean) => {
    sockets.add(from)
    from.on('error', () => {})
    from.once('close', () => {
      sockets.delete(from)
      if (!dead.has(from)) to.destroy() // a reset that is dropped as well
    })
    from.on('data', (bytes) => {
      if (isPartitioned) dead.add(from).add(to)
      if (dead.has(from)) return
      if (toServer) tap.toServer(bytes)
      else if (!tap.toClient(bytes)) {
        dead.add(from).add(to)
        return
      }
      to.write(bytes)
      if (toServer && isLast(bytes)) {
        isLast = () => false
        dead.add(from).add(to) // the server works on, and its answer is lost
        to.end()
        from.destroy()
      }
    })
  }

  const server = net.createServer((client) => {
    const upstream = net.connect(target)
    if (isPartitioned) dead.add(client).add(upstream)
    const tap = openTap()
    pass(client, upstream, tap, true)
    pass(upstream, client, tap, false)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')
  atEnd(t, () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })

  return {
    port: address.port,
    partition() {
      isPartitioned = true
      for (const socket of sockets) dead.add(socket)
    },
    heal() {
      isPartitioned = false
    },
    cutAfter(last) {
      isLast = last
    },
  }
}

export const socketOf = ({ host, port }: { host: string; port: number }): net.NetConnectOpts => ({
  path: `${host}/.s.PGSQL.${port}`,
})

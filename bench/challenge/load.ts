// The client: keep-alive connections that write prepared requests and read answers, and do as little as possible besides, so
// that the two cores are left to the server.
import { once } from 'node:events'
import net from 'node:net'
import { nowUs } from '../clock.ts'
import { readAnswers } from '../read-answers.ts'

export interface Connection {
  /** The status of the answer. One request at a time. */
  send(request: Buffer): Promise<number>
  close(): void
}

export async function connect(port: number): Promise<Connection> {
  const socket = net.connect({ host: '127.0.0.1', port, noDelay: true })
  await once(socket, 'connect')
  let waiting: { resolve(status: number): void; reject(error: Error): void } | null = null
  readAnswers(socket, (status) => waiting?.resolve(status))
  socket.on('error', (error) => waiting?.reject(error))
  socket.on('close', () => waiting?.reject(new Error('the server closed a connection')))
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        socket.write(request)
      }),
    close() {
      waiting = null
      socket.destroy()
    },
  }
}

export interface Load {
  port: number
  connections: number
  requests: readonly Buffer[]
}

export interface Answers {
  perSecond: number
  /** Milliseconds, one per answer. */
  latencies: number[]
}

/** As fast as it goes: every connection sends its next request when it has the answer to the last. */
export async function closedLoop({ port, connections, requests }: Load, seconds: number | 'all'): Promise<Answers> {
  const open = await Promise.all(Array.from({ length: connections }, () => connect(port)))
  const latencies: number[] = []
  const startUs = nowUs()
  const endUs = seconds === 'all' ? Infinity : startUs + seconds * 1e6
  let next = 0
  const lane = async (connection: Connection) => {
    while (nowUs() < endUs) {
      const request = requests[next++]
      if (request === undefined && seconds === 'all') return
      if (request === undefined) throw new Error('there are too few requests for this server')
      const sentUs = nowUs()
      accepted(await connection.send(request))
      latencies.push((nowUs() - sentUs) / 1000)
    }
  }
  await Promise.all(open.map(lane))
  const perSecond = latencies.length / ((nowUs() - startUs) / 1e6)
  for (const connection of open) connection.close()
  return { perSecond, latencies }
}

/** At a fixed rate, whether answers come or not. A request's time counts from the moment at which it was due. */
export async function openLoop({ port, connections, requests }: Load, perSecond: number): Promise<Answers> {
  const open = await Promise.all(Array.from({ length: connections }, () => connect(port)))
  const idle = [...open]
  const overdue: ((connection: Connection) => void)[] = []
  const latencies: number[] = []
  const startUs = nowUs()
  const send = async (request: Buffer, dueUs: number) => {
    const connection = idle.pop() ?? (await new Promise<Connection>((free) => overdue.push(free)))
    accepted(await connection.send(request))
    latencies.push((nowUs() - dueUs) / 1000)
    const next = overdue.shift()
    if (next === undefined) idle.push(connection)
    else next(connection)
  }
  const sending: Promise<void>[] = []
  while (sending.length < requests.length) {
    const dueUs = startUs + (sending.length / perSecond) * 1e6
    const request = requests[sending.length]
    if (request === undefined) break
    if (nowUs() < dueUs) await new Promise((resolve) => setTimeout(resolve, Math.max(0, (dueUs - nowUs()) / 1000)))
    else sending.push(send(request, dueUs))
  }
  await Promise.all(sending)
  const rate = latencies.length / ((nowUs() - startUs) / 1e6)
  for (const connection of open) connection.close()
  return { perSecond: rate, latencies }
}

function accepted(status: number): void {
  if (status !== 202) throw new Error(`a request was answered with ${status}`)
}

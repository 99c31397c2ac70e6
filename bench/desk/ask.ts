// The client: kept connections that write a request and read its answer, and do as little as possible besides. Node's own client took
// more processor time for an answer than the server, and its agent closed all but 256 of the connections as their answers came.
import net from 'node:net'
import { readAnswers } from '../read-answers.ts'
import type { Teardown } from '../teardown.ts'

export interface Answer {
  status: number
  /** Milliseconds of `performance.now()`. */
  arrivedAt: number
  /** Parsed when it is asked for: while others wait for their answers, that would be part of their time. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the desk's own JSON
  json(): any
}

export type Ask = (method: string, path: string, options?: { body?: object; waitSec?: number }) => Promise<Answer>

interface Connection {
  socket: net.Socket
  /** Of the request that waits for its answer. */
  resolve(answer: Answer): void
  reject(error: Error): void
}

export function openAsk(port: number, token: string, teardown: Teardown): Ask {
  const idle: Connection[] = []
  const all: Connection[] = []
  teardown.add(async () => {
    for (const { socket } of all) socket.removeAllListeners('close').destroy()
  })
  const open = (): Connection => {
    const connection: Connection = { socket: net.connect({ host: '127.0.0.1', port, noDelay: true }), ...NOBODY }
    listen(connection, () => idle.push(connection))
    all.push(connection)
    return connection
  }
  return (method, path, options = {}) =>
    new Promise((resolve, reject) => {
      const connection = idle.pop() ?? open()
      Object.assign(connection, { resolve, reject })
      connection.socket.write(requestOf(port, token, { method, path, ...options }))
    })
}

const NOBODY = { resolve() {}, reject() {} }

function listen(connection: Connection, onAnswer: () => void): void {
  const { socket } = connection
  readAnswers(socket, (status, body) => {
    const { resolve } = connection
    onAnswer()
    resolve({ status, arrivedAt: performance.now(), json: () => JSON.parse(body.toString()) })
  })
  socket.on('error', (error) => connection.reject(error))
  socket.on('close', () => connection.reject(new Error('The server closed a connection.')))
}

interface Asked {
  method: string
  path: string
  body?: object
  waitSec?: number
}

function requestOf(port: number, token: string, { method, path, body, waitSec }: Asked): string {
  const text = body === undefined ? '' : JSON.stringify(body)
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Connection: keep-alive',
    `Authorization: Bearer ${token}`,
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`]),
    ...(waitSec === undefined ? [] : [`Prefer: wait=${waitSec}`]),
  ]
  return `${lines.join('\r\n')}\r\n\r\n${text}`
}

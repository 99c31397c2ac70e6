// Reads the answers on a kept connection, one at a time, at the least cost: the cores belong to the server that is measured.
import type { Socket } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /content-length: (\d+)/i

export function readAnswers(socket: Socket, onAnswer: (status: number, body: Buffer) => void): void {
  let seen = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk])
    const head = seen.indexOf(HEAD_END)
    if (head === -1) return
    const text = seen.toString('latin1', 0, head)
    const body = seen.subarray(head + HEAD_END.length)
    if (body.length < Number(LENGTH.exec(text)?.[1] ?? 0)) return
    seen = Buffer.alloc(0)
    onAnswer(Number(text.slice(9, 12)), body)
  })
}

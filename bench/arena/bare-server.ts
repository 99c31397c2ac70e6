// The least that a server with `ws` can do for the same game: no accounts, no database, no result, no limits; one frame for
// both sockets, sessions spread over slots of 5 ms. What it holds is what this machine can hold.

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import { asciiFrame } from '../../src/doors/arena/engine/frame.ts'
import { TICK_MS } from './game.ts'

const SLOT_MS = 5

interface Player {
  tcp: Socket
  position: number
  lastSequence: number
}

interface Session {
  id: string
  tick: number
  players: readonly [Player, Player]
}

const slots: Session[][] = Array.from({ length: TICK_MS / SLOT_MS }, () => [])
const players = new Map<string | undefined, Player>()
let waiting: Player | undefined

const server = createServer((request, response) => {
  const player = players.get(request.headers.authorization)
  request.resume()
  response.end('{}')
  if (player === undefined) return
  if (waiting === undefined) {
    waiting = player
    return
  }
  const quietest = slots.reduce((best, slot) => (slot.length < best.length ? slot : best))
  quietest.push({ id: randomUUID(), tick: 0, players: [waiting, player] })
  waiting = undefined
})

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
server.on('upgrade', (request, tcp: Socket, head) =>
  sockets.handleUpgrade(request, tcp, head, (socket) => {
    const player = { tcp, position: 0, lastSequence: 0 }
    players.set(request.headers.authorization, player)
    tcp.write(asciiFrame('{"t":"event","seq":0,"event":"auth_state","p":{}}'))
    socket.on('message', (data) => {
      const { p }: { p: { sequence: number; delta: number } } = JSON.parse(String(data))
      player.lastSequence = p.sequence
      player.position += p.delta
    })
  }),
)

let position = Math.floor(performance.now() / SLOT_MS)
setInterval(() => {
  const now = Math.floor(performance.now() / SLOT_MS)
  const issuedAt = new Date().toISOString()
  while (position < now) {
    position += 1
    for (const session of slots[position % slots.length] ?? []) tell(session, issuedAt)
  }
}, 1)

function tell(session: Session, issuedAt: string): void {
  session.tick += 1
  const [a, b] = session.players
  const frame = asciiFrame(
    `{"t":"event","seq":0,"event":"session.state","p":{"sessionId":"${session.id}","tick":${session.tick},` +
      `"issuedAt":"${issuedAt}","players":[{"userId":1,"position":${a.position},"lastSequence":${a.lastSequence}},` +
      `{"userId":2,"position":${b.position},"lastSequence":${b.lastSequence}}]}}`,
  )
  a.tcp.write(frame)
  b.tcp.write(frame)
}

server.listen(Number(process.argv[2]), '127.0.0.1', () => {
  process.stderr.write(`ready at http://127.0.0.1:${process.argv[2]}\n`)
})

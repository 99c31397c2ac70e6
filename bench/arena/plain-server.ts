// The same game with `ws` as its documentation writes one: a timer per session, a state made by JSON.stringify and sent to both
// players with `send`. No accounts, no database, no result, no limits.

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { WebSocketServer, type WebSocket } from 'ws'
import { TICK_MS } from './game.ts'

interface Player {
  socket: WebSocket
  position: number
  lastSequence: number
}

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
  begin(waiting, player)
  waiting = undefined
})

function begin(a: Player, b: Player): void {
  const sessionId = randomUUID()
  let tick = 0
  setInterval(() => {
    tick += 1
    const players = [a, b].map(({ position, lastSequence }, index) => ({ userId: index + 1, position, lastSequence }))
    const p = { sessionId, tick, players, issuedAt: new Date().toISOString() }
    const text = JSON.stringify({ t: 'event', seq: 0, event: 'session.state', p })
    a.socket.send(text)
    b.socket.send(text)
  }, TICK_MS)
}

new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket, request) => {
  const player = { socket, position: 0, lastSequence: 0 }
  players.set(request.headers.authorization, player)
  socket.send('{"t":"event","seq":0,"event":"auth_state","p":{}}')
  socket.on('message', (data) => {
    const { p }: { p: { sequence: number; delta: number } } = JSON.parse(String(data))
    player.lastSequence = p.sequence
    player.position += p.delta
  })
})

server.listen(Number(process.argv[2]), '127.0.0.1', () => {
  process.stderr.write(`ready at http://127.0.0.1:${process.argv[2]}\n`)
})

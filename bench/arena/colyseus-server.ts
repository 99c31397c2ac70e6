// The same game on Colyseus, as its documentation writes one: a room with a schema, a simulation of ten steps a second and a
// patch after each. Nothing is kept anywhere: no database, no result.

import { defineRoom, defineServer, logger, Room, type Client } from '@colyseus/core'
import { schema, t } from '@colyseus/schema'
import { WebSocketTransport } from '@colyseus/ws-transport'
import { TICK_MS } from './game.ts'

const Player = schema({ position: t.number(), lastSequence: t.number() }, 'Player')
const State = schema({ tick: t.number(), players: t.map(Player) }, 'State')

class ArenaRoom extends Room {
  override maxClients = 2
  override patchRate = TICK_MS
  override state = new State()
  readonly #moves = new Map<string, number>()

  override onCreate(): void {
    this.state.tick = 0
    this.onMessage('input', (client: Client, input: unknown) => this.#input(client.sessionId, input))
    this.setSimulationInterval(() => this.#tick(), TICK_MS)
  }

  override onJoin(client: Client): void {
    const player = new Player()
    player.position = 0
    player.lastSequence = 0
    this.state.players.set(client.sessionId, player)
  }

  #input(sessionId: string, input: unknown): void {
    if (typeof input !== 'object' || input === null || !('sequence' in input) || !('delta' in input)) return
    const { sequence, delta } = input
    const player = this.state.players.get(sessionId)
    if (player === undefined || typeof sequence !== 'number' || typeof delta !== 'number') return
    if (sequence <= player.lastSequence || !Number.isInteger(delta) || Math.abs(delta) > 3) return
    player.lastSequence = sequence
    this.#moves.set(sessionId, (this.#moves.get(sessionId) ?? 0) + delta)
  }

  #tick(): void {
    for (const [sessionId, move] of this.#moves) {
      const player = this.state.players.get(sessionId)
      if (player !== undefined) player.position += move
    }
    this.#moves.clear()
    this.state.tick += 1
  }
}

logger.info = () => {}
const server = defineServer({
  rooms: { arena: defineRoom(ArenaRoom) },
  transport: new WebSocketTransport(),
  greet: false,
})
await server.listen(Number(process.argv[2]), '127.0.0.1')
process.stderr.write(`ready at http://127.0.0.1:${process.argv[2]}\n`)

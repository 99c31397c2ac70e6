// Players of Colyseus, in its own protocol: a seat by HTTP, then a WebSocket that answers the join and hears patches.

import { Agent, request } from 'node:http'
import { Protocol } from '@colyseus/shared-types'
import { Packr } from 'msgpackr'
import { STATES_PER_INPUT } from '../game.ts'
import type { LoadOptions } from '../messages.ts'
import { RawSocket } from '../raw-socket.ts'
import type { Hearing, Players } from './players.ts'

const BINARY = 2
const packr = new Packr({ useRecords: false })

interface Seat {
  processId: string
  roomId: string
  sessionId: string
}

export function openColyseusPlayers({ host, port }: LoadOptions, hearing: Hearing): Players {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })

  const seat = (method: string, name: string) =>
    new Promise<Seat>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', accept: 'application/json' }
      const path = `/matchmake/${method}/${name}`
      const asked = request({ agent, host, port, path, method: 'POST', headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        response.on('end', () => {
          if (response.statusCode === 200) resolve(JSON.parse(text))
          else reject(new Error(`${path}: ${response.statusCode} ${text.slice(0, 200)}`))
        })
      })
      asked.on('error', reject)
      asked.end('{}')
    })

  return {
    async addSession() {
      const first = await seat('create', 'arena')
      const isPlaying = openPlayer({ host, port, seat: first }, hearing)
      const second = await seat('joinById', first.roomId)
      await Promise.all([isPlaying, openPlayer({ host, port, seat: second }, hearing)])
    },
  }
}

function openPlayer({ host, port, seat }: { host: string; port: number; seat: Seat }, hearing: Hearing): Promise<void> {
  return new Promise((resolve, reject) => {
    let lastMs = 0
    let patches = 0
    let sequence = 0
    const onMessage = (socket: RawSocket, payload: Buffer): void => {
      const kind = payload[0]
      if (kind === Protocol.JOIN_ROOM) return socket.send(Buffer.from([Protocol.JOIN_ROOM]), BINARY)
      if (kind !== Protocol.ROOM_STATE_PATCH) return
      lastMs = hearing.onState(lastMs)
      patches += 1
      if (patches === 1) resolve()
      if (patches % STATES_PER_INPUT !== 0) return
      sequence += 1
      const input = { sequence, delta: (sequence % 7) - 3 }
      const name = packr.pack('input')
      socket.send(Buffer.concat([Buffer.from([Protocol.ROOM_DATA]), name, packr.pack(input)]), BINARY)
    }
    const path = `/${seat.processId}/${seat.roomId}?sessionId=${seat.sessionId}`
    RawSocket.open({ host, port, path, onMessage, onClose: (why) => (reject(new Error(why)), hearing.onLost(why)) })
  })
}

// Players of Reeve: an HTTP request to join the queue, a WebSocket for the match.

import { createHash } from 'node:crypto'
import { Agent, request } from 'node:http'
import { STATES_PER_INPUT } from '../game.ts'
import type { LoadOptions } from '../messages.ts'
import { RawSocket } from '../raw-socket.ts'
import type { Hearing, Players } from './players.ts'

const TICK_AT = Buffer.byteLength(
  '{"t":"event","seq":0,"event":"session.state","p":{"sessionId":"00000000-0000-0000-0000-000000000000","tick":',
)
const ID_AT = Buffer.byteLength('{"t":"event","seq":0,"event":"session.state","p":{"sessionId":"')
const NAME_AT = Buffer.byteLength('{"t":"event","seq":0,"event":"')
const STATE = Buffer.from('session.state"')
const AUTH = Buffer.from('auth_state"')

/** The token of a seeded player: nobody had to log in for it. */
export const tokenOf = (player: number): string => createHash('sha256').update(`bench token ${player}`).digest('hex')

export function openReevePlayers({ host, port, firstPlayer }: LoadOptions, hearing: Hearing): Players {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  let next = firstPlayer

  const join = (player: number) =>
    new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${tokenOf(player)}`, 'content-type': 'application/json' }
      const asked = request({ agent, host, port, path: '/api/queue/join', method: 'POST', headers }, (response) => {
        response.resume()
        response.on('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`join: ${response.statusCode}`)),
        )
      })
      asked.on('error', reject)
      asked.end('{"mode":"normal","timeoutSeconds":60}')
    })

  const addPlayer = async () => {
    const player = next
    next += 1
    const { isIn, isPlaying } = openPlayer({ host, port, token: tokenOf(player) }, hearing)
    await isIn
    await join(player)
    await isPlaying
  }
  return { addSession: async () => void (await Promise.all([addPlayer(), addPlayer()])) }
}

function openPlayer({ host, port, token }: { host: string; port: number; token: string }, hearing: Hearing) {
  let lastMs = 0
  let states = 0
  let sequence = 0
  let enter: () => void = () => {}
  let begin: () => void = () => {}
  let fail: (error: Error) => void = () => {}
  const isLost = new Promise<never>((_, reject) => (fail = reject))
  const isIn = Promise.race([isLost, new Promise<void>((resolve) => (enter = resolve))])
  const isPlaying = Promise.race([isLost, new Promise<void>((resolve) => (begin = resolve))])
  isPlaying.catch(() => {}) // whoever waits for it hears of it
  isIn.catch(() => {})

  const onMessage = (socket: RawSocket, payload: Buffer): void => {
    if (startsAt(payload, NAME_AT, AUTH)) return enter()
    if (!startsAt(payload, NAME_AT, STATE)) return
    lastMs = hearing.onState(lastMs)
    states += 1
    if (states === 1) begin()
    if (states % STATES_PER_INPUT !== 0) return
    sequence += 1
    const sessionId = payload.toString('latin1', ID_AT, ID_AT + 36)
    const input = `{"t":"event","seq":${sequence},"event":"session.input","p":{"sessionId":"${sessionId}","sequence":${sequence},"targetTick":${tickIn(payload) + 2},"delta":${(sequence % 7) - 3}}}`
    socket.send(Buffer.from(input, 'latin1'))
  }
  const onClose = (why: string): void => {
    fail(new Error(why))
    hearing.onLost(why)
  }
  const headers = { Authorization: `Bearer ${token}` }
  RawSocket.open({ host, port, path: '/ws', headers, onMessage, onClose })
  return { isIn, isPlaying }
}

const startsAt = (payload: Buffer, at: number, text: Buffer): boolean =>
  payload.length >= at + text.length && payload.compare(text, 0, text.length, at, at + text.length) === 0

function tickIn(payload: Buffer): number {
  let tick = 0
  for (let at = TICK_AT; ; at += 1) {
    const digit = (payload[at] ?? 0) - 0x30
    if (digit < 0 || digit > 9) return tick
    tick = tick * 10 + digit
  }
}

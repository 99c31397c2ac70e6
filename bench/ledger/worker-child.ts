// The worker process. It loads everything first and starts on order, so that the time Node needs to load a library is
// nobody's result. Handled jobs are only counted (by id: a job handled twice does not stand for one never handled), and
// one message is sent when a round is complete; a message per job would measure the pipe between the processes.

import { Check } from 'typebox/value'
import { nowUs } from '../clock.ts'
import { Servers, type Worker } from './contestant.ts'
import { CONTESTANTS } from './contestants.ts'
import { Order, type Report } from './messages.ts'

interface Round {
  handled: Set<number>
  expected: number
  firstUs: number
  repeats: number
}

const [name, serversJson = ''] = process.argv.slice(2)
const servers: unknown = JSON.parse(serversJson)
const contestant = CONTESTANTS.find((contestant) => contestant.name === name)
const rounds = new Map<number, Round>()
let worker: Worker | undefined

process.on('message', (message: unknown) => {
  if (!Check(Order, message)) throw new Error(`unknown order: ${JSON.stringify(message)}`)
  obey(message).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
process.on('disconnect', () => process.exit(1)) // the benchmark is gone, so nobody will order a stop
process.on('SIGINT', () => {}) // Ctrl-C reaches both processes; the benchmark gives the order
say({ type: 'loaded' })

async function obey(order: Order): Promise<void> {
  switch (order.type) {
    case 'start':
      if (contestant === undefined || !Check(Servers, servers)) throw new Error(`cannot start ${name}`)
      worker = await contestant.startWorker(servers, handle)
      return say({ type: 'started' })
    case 'expect':
      roundOf(order.round).expected = order.count
      return sayIfComplete(order.round)
    case 'stop':
      await worker?.stop()
      process.exit(0)
  }
}

function handle(payload: unknown): void {
  if (!isPayload(payload)) throw new Error(`unknown payload: ${JSON.stringify(payload)}`)
  const round = roundOf(payload.round)
  if (round.handled.has(payload.id)) {
    round.repeats++
    return
  }
  if (round.handled.size === 0) round.firstUs = nowUs()
  round.handled.add(payload.id)
  sayIfComplete(payload.round)
}

function roundOf(number: number): Round {
  const known = rounds.get(number)
  if (known !== undefined) return known
  const round: Round = { handled: new Set(), expected: Infinity, firstUs: 0, repeats: 0 }
  rounds.set(number, round)
  return round
}

function sayIfComplete(number: number): void {
  const round = roundOf(number)
  if (round.handled.size !== round.expected) return
  say({ type: 'handled', round: number, firstUs: round.firstUs, repeats: round.repeats })
}

function say(report: Report): void {
  process.send?.(report)
}

// By hand: this runs once per job, and a schema check would be a visible part of a no-op.
function isPayload(value: unknown): value is { round: number; id: number } {
  if (typeof value !== 'object' || value === null || !('round' in value) || !('id' in value)) return false
  return typeof value.round === 'number' && typeof value.id === 'number'
}

// The process that makes the load: all players of all sessions, and the clock that says how late their states are.

import { Check } from 'typebox/value'
import { GapHistogram } from './gap-histogram.ts'
import { TICK_MS } from './game.ts'
import { LoadOptions, Order, type Report } from './messages.ts'
import { openColyseusPlayers } from './players/colyseus.ts'
import { openReevePlayers } from './players/reeve.ts'

/** At a time: a crowd at the door is not what is measured. */
const JOINING_MAX = 100

const options: unknown = JSON.parse(process.argv[2] ?? '')
if (!Check(LoadOptions, options)) throw new Error('These are no options.')

const gaps = new GapHistogram()
let isMeasuring = false
let sockets = 0
let lost = 0

const onState = (lastMs: number): number => {
  const now = performance.now()
  if (isMeasuring && lastMs > 0) gaps.add(now - lastMs - TICK_MS)
  return now
}
const onLost = (why: string): void => {
  lost += 1
  if (lost <= 3) console.error(`load: ${why}`)
}
const players =
  options.game === 'reeve'
    ? openReevePlayers(options, { onState, onLost })
    : openColyseusPlayers(options, { onState, onLost })

process.on('message', (message: unknown) => {
  if (!Check(Order, message)) throw new Error(`unknown order: ${JSON.stringify(message)}`)
  obey(message).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
process.on('disconnect', () => process.exit(0))
process.on('SIGINT', () => {})

async function obey(order: Order): Promise<void> {
  if (order.type === 'add') {
    for (let left = order.sessions; left > 0; left -= JOINING_MAX) {
      await Promise.all(Array.from({ length: Math.min(JOINING_MAX, left) }, () => players.addSession()))
    }
    sockets += 2 * order.sessions
    return say({ type: 'added', sessions: order.sessions })
  }
  gaps.clear()
  isMeasuring = true
  await new Promise((resolve) => setTimeout(resolve, order.ms))
  isMeasuring = false
  say({
    type: 'measured',
    p50: gaps.percentile(50),
    p99: gaps.percentile(99),
    max: gaps.percentile(100),
    statesPerSocket: gaps.total / sockets / (order.ms / 1000),
    lost,
  })
}

function say(report: Report): void {
  process.send?.(report)
}

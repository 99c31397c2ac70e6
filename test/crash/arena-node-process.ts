// A node of the arena with players who live in the same process: they join, play and join again until they are told that it
// is enough. The process is killed at any moment; another one with the same players takes its place.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/core/clock.ts'
import { openMetrics } from '../../src/core/metrics.ts'
import { newSecret } from '../../src/core/random.ts'
import { startLoops } from '../../src/core/loop.ts'
import { readSettings } from '../../src/core/settings.ts'
import type { Client } from '../../src/doors/arena/engine/audience.ts'
import { openNode } from '../../src/doors/arena/node.ts'
import { ARENA_SETTINGS } from '../../src/doors/arena/settings.ts'
import { openWiring, tell } from './wiring.ts'

export interface ArenaNodeOptions {
  settings: Record<string, string>
  userIds: number[]
}

const JOIN_AGAIN_MS = 200
const WAIT_MS = 3000

const options: ArenaNodeOptions = JSON.parse(process.argv[2] ?? '')
const { config, database, engine, outbox, log, close } = await openWiring(options.settings)
const settings = readSettings(ARENA_SETTINGS, options.settings, [])
const node = openNode({ ...engine, config, database, log, metrics: openMetrics(), clock: systemClock }, settings)
let isEnough = false
let joining = 0

class Bot implements Client {
  readonly id: number
  readonly userId: number
  readonly language = 'en'
  isFree = true
  #sequence = 0

  constructor(id: number, userId: number) {
    this.id = id
    this.userId = userId
  }

  send(text: string): void {
    this.#hear(text)
  }

  sendFrame(frame: Buffer): void {
    const head = (frame[1] ?? 0) < 126 ? 2 : 4
    this.#hear(frame.toString('utf8', head))
  }

  async join(): Promise<void> {
    if (!this.isFree || isEnough) return
    this.isFree = false
    joining += 1
    try {
      const { ok } = await node.seats.take({
        userId: this.userId,
        mode: 'normal',
        timeoutMs: WAIT_MS,
        idempotency: null,
      })
      if (ok) node.matchmaker.joined(WAIT_MS)
      else this.isFree = true // in a match from before: its end is told, or it is found out at the next try
    } finally {
      joining -= 1
      sayIfQuiet()
    }
  }

  #hear(text: string): void {
    const { t, event, p } = JSON.parse(text)
    if (event === 'session.state') this.#move(p.sessionId, p.tick)
    if (event !== 'session.ended' && t !== 'error') return
    this.isFree = true
    void this.join().catch(() => (this.isFree = true))
  }

  #move(sessionId: string, tick: number): void {
    const session = node.players.sessionOf(this.userId)
    if (session?.sessionId !== sessionId) return
    this.#sequence += 1
    const delta = ((this.userId * 31 + this.#sequence * 17) % 7) - 3
    session.input(this, 0, { sequence: this.#sequence, targetTick: tick + 1, delta })
  }
}

const stopped = once(process, 'SIGTERM')
process.on('message', () => {
  isEnough = true
  sayIfQuiet()
})
const loops = startLoops([...engine.ledger.loops, ...outbox.loops], log)
const ofNode = startLoops(node.loops, log)
const bots = options.userIds.map((userId, index) => new Bot(index + 1, userId))
await Promise.all(
  bots.map(async (bot) => {
    await node.presence.arrive({ userId: bot.userId, resumeToken: newSecret() })
    node.players.enter(bot)
    await node.remotes.locate(bot.userId)
  }),
)
await tell({ what: 'ready' })
void joinAgain()

await stopped
isEnough = true
await ofNode.stop()
await node.stop()
await loops.stop()
await close()
process.exit()

/** No player joins any more, and every seat that was asked for is taken or refused. */
function sayIfQuiet(): void {
  if (isEnough && joining === 0) void tell({ what: 'quiet' })
}

/** Those who were in a match of a process that died hear of its end, or not: they try from time to time. */
async function joinAgain(): Promise<void> {
  for (;;) {
    await Promise.all(bots.map((bot) => bot.join().catch(() => (bot.isFree = true))))
    await sleep(JOIN_AGAIN_MS)
  }
}

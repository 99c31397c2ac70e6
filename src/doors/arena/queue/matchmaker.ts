// Keeps the queue moving: pairs whoever waits, hands the matches to the nodes that shall run them, and tells those whose time
// is over. Every node does this; the database sees to it that each player is paired once.
import type { Database } from '../../../core/db/database.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { Wake, type Loop } from '../../../core/loop.ts'
import { Alarm } from '../engine/alarm.ts'
import type { Wheel } from '../engine/wheel.ts'
import type { Runner } from '../matches/runner.ts'
import type { ArenaMetrics } from '../metrics.ts'
import type { ArenaSettings } from '../settings.ts'
import { canPair, pairOnce } from './pairing.ts'
import type { Seats } from './seats.ts'

const PAIR_EVERY_MS = 250 // windows widen, and a row may have been locked; a join does not wait for this
const EXPIRE_EVERY_MS = 1000 // for waits that began at other nodes; those that began here are ended in time
const EXPIRE_MAX = 500 // user ids in one message

export interface MatchmakerDeps {
  database: Database
  ledger: Ledger
  wakeOutbox(): void
  settings: ArenaSettings
  seats: Seats
  runner: Runner
  metrics: ArenaMetrics
  node: string
  wheel: Wheel
  post(node: string, line: string): void
  postToAll(line: string): void
}

export interface Matchmaker {
  pairing: Loop
  expiring: Loop
  /** Somebody has joined, and waits for so long. */
  joined(timeoutMs: number): void
  /** Tells them, wherever they are connected, that they have waited in vain. */
  tellTimeout(userIds: readonly number[]): void
}

export function openMatchmaker(deps: MatchmakerDeps): Matchmaker {
  const joined = new Wake()
  const due = new Wake()
  const alarm = new Alarm(deps.wheel, () => due.ring())
  const tellTimeout = (userIds: readonly number[]) => deps.postToAll(`timeout ${userIds.join(',')}`)

  return {
    joined(timeoutMs) {
      joined.ring()
      alarm.setFor(deps.wheel.now() + timeoutMs)
    },
    tellTimeout,
    pairing: {
      name: 'pair players',
      everyMs: PAIR_EVERY_MS,
      wake: joined,
      async runOnce() {
        if (!(await canPair(deps.database.hot))) return false
        const { paired, isFull } = await pairOnce(deps)
        if (paired.length === 0) return false
        deps.metrics.paired.inc(paired.length)
        for (const { match, node } of paired) if (node !== deps.node) deps.post(node, `start ${match.matchId}`)
        const here = paired.filter(({ node }) => node === deps.node)
        await deps.runner.begin(here.map(({ match }) => match))
        return isFull
      },
    },
    expiring: {
      name: 'end waits that were in vain',
      everyMs: EXPIRE_EVERY_MS,
      wake: due,
      async runOnce() {
        const userIds = await deps.seats.expire(EXPIRE_MAX)
        if (userIds.length > 0) tellTimeout(userIds)
        return userIds.length === EXPIRE_MAX
      },
    },
  }
}

// Moves the queue: pairs waiting players, hands each match to the node that will run it, and tells players whose wait
// has timed out. Every node does this; the database ensures that each player is paired once.
import type { Outbox } from '../../../core/outbox/outbox.ts'
import type { Database } from '../../../core/db/database.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { Wake, type Loop } from '../../../core/loop.ts'
import type { NodeMessage, SendToNode } from '../cluster/messages.ts'
import { Alarm } from '../engine/alarm.ts'
import type { Wheel } from '../engine/wheel.ts'
import type { Runner } from '../matches/runner.ts'
import type { ArenaMetrics } from '../metrics.ts'
import type { ArenaSettings } from '../settings.ts'
import { CAN_PAIR, canPair, pairOnce } from './pairing.ts'
import type { Seats } from './seats.ts'

const PAIR_EVERY_MS = 250 // while several wait: rating windows widen and a row may have been locked; a join wakes the loop at once
const EXPIRE_EVERY_MS = 1000 // for waits that began on other nodes; an alarm ends those of this node on time
const EXPIRE_MAX = 500 // user ids per message

export interface MatchmakerDeps {
  database: Database
  ledger: Ledger
  outbox: Pick<Outbox, 'wake'>
  settings: ArenaSettings
  seats: Seats
  runner: Runner
  metrics: ArenaMetrics
  node: string
  wheel: Wheel
  send: SendToNode
  sendToAll(message: NodeMessage): void
}

export interface Matchmaker {
  pairing: Loop
  expiring: Loop
  /** A player has joined and waits for at most this long. */
  joined(timeoutMs: number): void
  /** Tells these players, on whichever node they are connected, that no opponent was found. */
  tellTimeout(userIds: readonly number[]): void
  /** Tells the opponent that the player wants a rematch. */
  tellRematch(wanted: { sessionId: string; userId: number; opponentId: number }): void
}

export function openMatchmaker(deps: MatchmakerDeps): Matchmaker {
  const joined = new Wake()
  const due = new Wake()
  const alarm = new Alarm(deps.wheel, () => due.ring())
  const pairAgain = new Alarm(deps.wheel, () => joined.ring())
  const tellTimeout = (userIds: readonly number[]) => deps.sendToAll({ type: 'timeout', userIds })

  return {
    joined(timeoutMs) {
      joined.ring()
      alarm.setFor(deps.wheel.now() + timeoutMs)
    },
    tellTimeout,
    tellRematch: (wanted) => deps.sendToAll({ type: 'rematch', ...wanted }),
    pairing: {
      name: 'pair-players',
      everyMs: PAIR_EVERY_MS,
      wake: joined,
      isDue: CAN_PAIR,
      async runOnce() {
        if (!(await canPair(deps.database.hot))) return false
        const { paired, isFull } = await pairOnce(deps)
        if (!isFull) pairAgain.setFor(deps.wheel.now() + PAIR_EVERY_MS)
        if (paired.length === 0) return false
        deps.metrics.paired.inc(paired.length)
        for (const { match, node } of paired) {
          if (node !== deps.node) deps.send(node, { type: 'start', matchId: match.matchId })
        }
        const here = paired.filter(({ node }) => node === deps.node)
        await deps.runner.begin(here.map(({ match }) => match))
        return isFull
      },
    },
    expiring: {
      name: 'expire-queue-entries',
      everyMs: EXPIRE_EVERY_MS,
      isDue: `exists (select from seats where match_id is null and expires_at <= statement_timestamp())`,
      wake: due,
      async runOnce() {
        const userIds = await deps.seats.expire(EXPIRE_MAX)
        if (userIds.length > 0) tellTimeout(userIds)
        return userIds.length === EXPIRE_MAX
      },
    },
  }
}

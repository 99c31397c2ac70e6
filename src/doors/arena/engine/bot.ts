// The built-in opponent taps about as fast as a person: faster when it is behind, slower when it leads. Its inputs are
// recorded as a player's are, so that a match against it can be resumed and replayed.
import type { Side } from '@reeve/sdk/arena-replay'
import { unitRandom } from '../../../core/random.ts'
import type { Game } from './game.ts'

const CHANCE_BEHIND = 0.75
const CHANCE_AHEAD = 0.35
const STEPS = 3

/** Moves this side, or does not, at the current tick. */
export function playBot(game: Game, side: Side): void {
  const other: Side = side === 0 ? 1 : 0
  const isAhead = game.positions[side] > game.positions[other]
  if (unitRandom() >= (isAhead ? CHANCE_AHEAD : CHANCE_BEHIND)) return
  const delta = 1 + Math.floor(unitRandom() * STEPS)
  game.input({ side, sequence: game.lastSequence(side) + 1, targetTick: game.tick, delta })
}

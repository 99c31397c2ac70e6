// The game: two players on a line. An input moves its player by `delta` at `targetTick`, from the current tick to ten ahead;
// after the last tick the higher position wins. The record (the SDK's arena-replay.ts) holds every accepted input, so that
// a match can be resumed and replayed from it.
import { AHEAD_MAX, Recorder, unpackInputs, winnerOf, type RecordedInput, type Side } from '@reeve/sdk/arena-replay'

/** Inputs of one player that count for one tick. Flooding gains nothing, and the record stays small. */
export const INPUTS_PER_TICK_MAX = 8

const RING = 16 // more than the range of target ticks: 0 to 10 ahead

export interface GameInput {
  side: Side
  sequence: number
  targetTick: number
  delta: number
}

export class Game {
  readonly ticks: number
  tick = 0
  readonly positions: [number, number] = [0, 0]
  readonly record: Recorder
  readonly #sequences: [number, number] = [-1, -1]
  /** Sum and number of each side's inputs for the coming ticks. */
  readonly #moves = new Int8Array(2 * RING)
  readonly #counts = new Uint8Array(2 * RING)

  constructor(ticks: number, record = new Recorder()) {
    this.ticks = ticks
    this.record = record
  }

  /** The game as it stood at this tick. */
  static resume(ticks: number, { tick, inputs }: { tick: number; inputs: Uint8Array }): Game {
    const game = new Game(ticks, Recorder.resume(inputs))
    game.tick = tick
    for (const input of unpackInputs(inputs)) {
      game.#sequences[input.side] = input.sequence
      if (input.targetTick < tick) game.positions[input.side] += input.delta
      else game.#plan(input)
    }
    return game
  }

  get isOver(): boolean {
    return this.tick >= this.ticks
  }

  get winner(): Side | null {
    return winnerOf(this.positions)
  }

  /** The last accepted sequence; 0 before the first. */
  lastSequence(side: Side): number {
    return Math.max(0, this.#sequences[side])
  }

  /** False: the sequence does not rise, the tick is out of range, or the tick already has INPUTS_PER_TICK_MAX inputs. */
  input({ side, sequence, targetTick, delta }: GameInput): boolean {
    if (sequence <= this.#sequences[side]) return false
    if (targetTick < this.tick || targetTick > this.tick + AHEAD_MAX) return false
    const input = { tick: this.tick, side, sequence, targetTick, delta }
    if ((this.#counts[slotOf(input)] ?? 0) >= INPUTS_PER_TICK_MAX) return false
    this.#sequences[side] = sequence
    this.#plan(input)
    this.record.add(input)
    return true
  }

  /** Applies the inputs of the current tick and moves to the next one. */
  advance(): void {
    for (const side of SIDES) {
      const slot = slotOf({ side, targetTick: this.tick })
      this.positions[side] += this.#moves[slot] ?? 0
      this.#moves[slot] = 0
      this.#counts[slot] = 0
    }
    this.tick += 1
  }

  #plan(input: RecordedInput): void {
    const slot = slotOf(input)
    this.#moves[slot] = (this.#moves[slot] ?? 0) + input.delta
    this.#counts[slot] = (this.#counts[slot] ?? 0) + 1
  }
}

const SIDES: readonly Side[] = [0, 1]

const slotOf = ({ side, targetTick }: { side: Side; targetTick: number }): number => side * RING + (targetTick % RING)

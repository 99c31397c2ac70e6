import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Recorder, replayInputs, unpackInputs, type RecordedInput, type Side } from '@reeve/sdk/arena-replay'
import * as fc from 'fast-check'
import { Game, INPUTS_PER_TICK_MAX } from '../../src/doors/arena/engine/game.ts'

const TICKS = 40

const anyMove = fc.record({
  /** Ticks that pass before it. */
  wait: fc.integer({ min: 0, max: 4 }),
  side: fc.constantFrom<Side>(0, 1),
  rise: fc.oneof(fc.integer({ min: -2, max: 5 }), fc.integer({ min: 1, max: 1_000_000 })),
  ahead: fc.integer({ min: -2, max: 13 }),
  delta: fc.integer({ min: -3, max: 3 }),
})

/** Plays them against a game, and tells which were accepted. */
function play(game: Game, moves: readonly { wait: number; side: Side; rise: number; ahead: number; delta: number }[]) {
  const sequences: [number, number] = [0, 0]
  const accepted: RecordedInput[] = []
  for (const { wait, side, rise, ahead, delta } of moves) {
    for (let n = 0; n < wait && !game.isOver; n += 1) game.advance()
    if (game.isOver) break
    const input = { side, sequence: Math.max(0, sequences[side] + rise), targetTick: game.tick + ahead, delta }
    if (!game.input(input)) continue
    sequences[side] = input.sequence
    accepted.push({ ...input, tick: game.tick })
  }
  return accepted
}

const finish = (game: Game) => {
  while (!game.isOver) game.advance()
}

describe('the game', () => {
  test('a replay of the packed inputs gives the same positions and the same winner, whatever was played', () => {
    fc.assert(
      fc.property(fc.array(anyMove, { maxLength: 200 }), (moves) => {
        const game = new Game(TICKS)
        const accepted = play(game, moves)
        finish(game)

        const inputs = unpackInputs(game.record.slice())
        const replayed = replayInputs(inputs, TICKS)

        assert.deepEqual(inputs, accepted)
        assert.deepEqual(replayed.positions, game.positions)
        assert.equal(replayed.winner, game.winner)
        assert.deepEqual(replayed.lastSequences, [game.lastSequence(0), game.lastSequence(1)])
      }),
    )
  })

  test('a game that is taken up from a snapshot ends as the one that was not interrupted', () => {
    fc.assert(
      fc.property(fc.array(anyMove, { maxLength: 60 }), fc.array(anyMove, { maxLength: 60 }), (before, after) => {
        const game = new Game(TICKS)
        play(game, before)
        const resumed = Game.resume(TICKS, { tick: game.tick, inputs: game.record.slice() })
        assert.deepEqual(resumed.positions, game.positions)

        assert.deepEqual(play(resumed, after), play(game, after))
        finish(game)
        finish(resumed)

        assert.deepEqual(resumed.positions, game.positions)
        assert.deepEqual(resumed.record.slice(), game.record.slice())
      }),
    )
  })

  test('an input counts from the current tick to ten ahead, eight a tick, with a sequence that rises', () => {
    const game = new Game(TICKS)
    game.advance()
    const input = (sequence: number, targetTick: number) => game.input({ side: 0, sequence, targetTick, delta: 1 })

    assert.equal(input(0, 1), true)
    assert.equal(input(0, 2), false)
    assert.equal(input(1, 0), false)
    assert.equal(input(1, 12), false)
    assert.equal(input(1, 11), true)
    for (let n = 0; n < INPUTS_PER_TICK_MAX; n += 1) assert.equal(input(10 + n, 5), true)
    assert.equal(input(100, 5), false)
    assert.equal(game.input({ side: 1, sequence: 1, targetTick: 5, delta: 3 }), true)
  })

  test('five inputs a second from both players for a match of the usual length take less than 600 bytes', () => {
    const game = new Game(50)
    for (let tick = 0; tick < 50; tick += 1) {
      const isTurn = tick % 2 === 0
      for (const side of [0, 1] as const)
        if (isTurn) game.input({ side, sequence: tick + 1, targetTick: tick + 2, delta: 1 })
      game.advance()
    }

    assert(game.record.length < 600, `${game.record.length} bytes`)
    assert.equal(unpackInputs(game.record.slice()).length, 50)
  })

  test('a record that is cut or broken is refused', () => {
    const recorder = new Recorder()
    recorder.add({ tick: 3, side: 1, sequence: 1_000_000, targetTick: 5, delta: -3 })

    assert.throws(() => unpackInputs(recorder.slice().subarray(0, 3)))
    assert.throws(() => unpackInputs(new Uint8Array(20).fill(0xff)))
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { asciiFrame, asciiTextOf } from '../../src/doors/arena/engine/frame.ts'
import { Game } from '../../src/doors/arena/engine/game.ts'
import { StateFrames } from '../../src/doors/arena/engine/state-frames.ts'
import { BOT, type Match } from '../../src/doors/arena/match.ts'
import { playersOf } from '../../src/doors/arena/wire.ts'
import { cases } from '../support/size.ts'

const MATCH: Match = {
  matchId: '01a1e1c4-f6c7-70b5-9a08-3c39fa5206f3',
  mode: 'normal',
  createdAt: '2026-01-01T00:00:00.000Z',
  tickIntervalMs: 100,
  ticks: 1000,
  participants: [
    { ...BOT, userId: 7 },
    { ...BOT, userId: 1234 },
  ],
}

const stateText = (game: Game, issuedAt: string): string => {
  const p = { sessionId: MATCH.matchId, tick: game.tick, players: playersOf(MATCH, game), issuedAt }
  return JSON.stringify({ t: 'event', seq: 0, event: 'session.state', p })
}

const number = fc.oneof(fc.integer({ min: -120, max: 120 }), fc.integer({ min: -100_000, max: 100_000 }))
const moment = fc.record({
  tick: fc.nat(120),
  a: number,
  b: number,
  at: fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }),
})
const input = fc.option(
  fc.record({ side: fc.constantFrom(0 as const, 1 as const), step: fc.constantFrom(1, 8, 95, 1e9) }),
)

test('a frame says the state, however its numbers grow and shrink, and a frame that was sent is not changed', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(moment, input), { maxLength: 30 }), (moments) => {
      const game = new Game(MATCH.ticks)
      const frames = new StateFrames(MATCH)
      const sent: { frame: Buffer; text: string }[] = []
      for (const [{ tick, a, b, at }, played] of moments) {
        game.tick = tick
        game.positions[0] = a
        game.positions[1] = b
        if (played !== null) {
          const sequence = Math.min(4_294_967_295, game.lastSequence(played.side) + played.step)
          game.input({ side: played.side, sequence, targetTick: tick, delta: 0 })
        }

        const issuedAt = at.toISOString()
        sent.push({ frame: frames.next(game, issuedAt), text: stateText(game, issuedAt) })
      }

      for (const { frame, text } of sent) {
        assert.equal(asciiTextOf(frame), text)
        assert.deepEqual(frame, asciiFrame(text))
      }
    }),
    { numRuns: cases(500) },
  )
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { pairByRating, windowOf } from '../../src/doors/arena/queue/pair-by-rating.ts'
import { ratingAfter, scoreOf } from '../../src/doors/arena/matches/rating.ts'
import { startProcessorTimer } from '../support/processor-time.ts'

describe('pairing by rating', () => {
  test('nobody is paired twice, nobody beyond the window of the one who waited longer, and nobody waits in vain', () => {
    const anyPlayer = fc.record({
      rating: fc.integer({ min: 100, max: 3000 }),
      waitedMs: fc.integer({ min: 0, max: 60_000 }),
    })
    fc.assert(
      fc.property(fc.array(anyPlayer, { maxLength: 60 }), (players) => {
        const waiting = players.toSorted((a, b) => b.waitedMs - a.waitedMs).map((player, id) => ({ ...player, id }))

        const pairs = pairByRating(waiting)

        const seen = pairs.flat().map(({ id }) => id)
        assert.equal(new Set(seen).size, seen.length)
        for (const [a, b] of pairs) assert(Math.abs(a.rating - b.rating) <= windowOf(a), 'too far apart')
        // A player who is left, and one who came later and is left, could not have been paired.
        const left = waiting.filter(({ id }) => !seen.includes(id))
        for (const [index, a] of left.entries()) {
          for (const b of left.slice(index + 1)) assert(Math.abs(a.rating - b.rating) > windowOf(a))
        }
      }),
    )
  })

  test('the one who has waited longest gets the nearest opponent', () => {
    const player = (name: string, rating: number, waitedMs: number) => ({ name, rating, waitedMs })
    const waiting = [
      player('old', 1500, 3000),
      player('near', 1510, 2000),
      player('far', 1590, 1000),
      player('low', 1450, 0),
    ]

    const names = pairByRating(waiting).map((pair) => pair.map(({ name }) => name))

    assert.deepEqual(names, [
      ['old', 'near'],
      ['far', 'low'], // 140 apart: within what a second of waiting allows
    ])
  })

  test('10,000 players are paired in a moment', () => {
    const waiting = Array.from({ length: 10_000 }, (_, n) => ({
      rating: 1000 + ((n * 7919) % 1000),
      waitedMs: 10_000 - n,
    }))
    const processorMs = startProcessorTimer()

    const pairs = pairByRating(waiting)

    assert.equal(pairs.length, 5000)
    assert(processorMs() < 2000)
  })
})

describe('the rating', () => {
  // Glickman's own example gives 1464.06, 151.52 and 0.05999 for three games in one period; per game the numbers are these.
  test('is Glicko-2, updated per game', () => {
    const player = { rating: 1500, rd: 200, volatility: 0.06, games: 7 }
    const opponent = { rating: 1400, rd: 30, volatility: 0.06, games: 9 }

    const won = ratingAfter(player, opponent, 1)

    assert(Math.abs(won.rating - 1563.56) < 0.1, String(won.rating))
    assert(Math.abs(won.rd - 175.4) < 0.1, String(won.rd))
    assert.equal(won.games, 8)
  })

  test('equals that rise and fall are mirror images; a draw between equals moves nothing but the deviation', () => {
    const fresh = { rating: 1500, rd: 350, volatility: 0.06, games: 0 }

    const won = ratingAfter(fresh, fresh, 1)
    const lost = ratingAfter(fresh, fresh, 0)
    const drawn = ratingAfter(fresh, fresh, 0.5)

    assert(Math.abs(won.rating + lost.rating - 3000) < 1e-9)
    assert.equal(drawn.rating, 1500)
    assert(drawn.rd < 350)
  })

  test('the deviation has a floor of 45', () => {
    let player = { rating: 1500, rd: 50, volatility: 0.06, games: 0 }
    const opponent = { ...player, rd: 45 }

    for (let n = 0; n < 200; n += 1) player = ratingAfter(player, opponent, n % 2 === 0 ? 1 : 0)

    assert(player.rd >= 45, String(player.rd))
  })

  test('scores: the winner 1, the loser 0, both 0.5 for a draw', () => {
    assert.deepEqual([scoreOf(0, 0), scoreOf(1, 0), scoreOf(0, null), scoreOf(1, null)], [1, 0, 0.5, 0.5])
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Rounds } from '../../src/core/http/sockets/rounds.ts'

function roundsOf(count: number): Rounds<number, string> {
  const rounds = new Rounds<number, string>(2000)
  for (let n = 0; n < count; n += 1) rounds.add(n, `item ${n}`)
  return rounds
}

describe('rounds', () => {
  test('few items are visited all at once, once in a round', () => {
    const rounds = roundsOf(3)

    assert.equal(rounds.everyMs, 2000)
    assert.deepEqual(rounds.next(), [
      [0, 'item 0'],
      [1, 'item 1'],
      [2, 'item 2'],
    ])
    assert.deepEqual(roundsOf(0).next(), [])
  })

  for (const [count, shares] of [
    [101, 2],
    [5500, 20],
  ] as const) {
    test(`${count} items are visited in ${shares} shares, each item once`, () => {
      const rounds = roundsOf(count)

      const visits = Array.from({ length: shares }, () => rounds.next())

      assert.equal(rounds.everyMs, 2000 / shares)
      assert(visits.every((share) => share.length <= Math.ceil(count / shares)))
      const visited = new Set(visits.flatMap((share) => share.map(([key]) => key)))
      assert.equal(visited.size, count)
    })
  }

  test('who is removed is not visited, and who comes waits for a turn', () => {
    const rounds = roundsOf(150)
    rounds.next()
    rounds.remove(75)
    rounds.add(1000, 'new')

    const keys = rounds.next().map(([key]) => key)

    assert(!keys.includes(75))
    assert(keys.includes(76))
    assert(keys.length <= 75)
  })
})

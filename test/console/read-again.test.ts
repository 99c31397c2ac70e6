// What a page reads again whenever something has happened.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readAgain } from '../../console/src/live/read-again.ts'
import { until } from '../support/until.ts'

/** Each reading ends when it is told to. */
function slowReads() {
  const ends: { resolve: () => void; reject: (error: Error) => void }[] = []
  return { ends, read: () => new Promise<void>((resolve, reject) => void ends.push({ resolve, reject })) }
}

describe('what is read again', () => {
  test('is read once more after the reading under way, however much happens meanwhile, and none is given up', async () => {
    const { ends, read } = slowReads()
    const first = readAgain('a list', read)
    for (let times = 0; times < 5; times += 1) await readAgain('a list', read)
    assert.equal(ends.length, 1)
    ends[0]?.resolve()
    await until('it is read once more', () => ends.length === 2)
    ends[1]?.resolve()
    await first

    assert.equal(ends.length, 2)
  })

  test('waits for no other list, and is read anew after a failure', async () => {
    const { ends, read } = slowReads()
    const one = readAgain('one', read)
    const other = readAgain('other', read)
    assert.equal(ends.length, 2)
    ends[0]?.reject(new Error('refused'))
    await assert.rejects(one, /refused/)
    const again = readAgain('one', read)
    assert.equal(ends.length, 3)
    for (const end of ends) end.resolve()
    await Promise.all([other, again])
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { version } from 'uuid'
import { parseJobId } from '../../src/core/ledger/job.ts'
import { newJobId } from '../../src/core/random.ts'

const ID = '01a1e120-94da-7312-acbb-a9663439b5dc'

describe('the id of a job', () => {
  test('is accepted in either case and returned in lower case, as the database writes it', () => {
    assert.equal(parseJobId(ID), ID)
    assert.equal(parseJobId(ID.toUpperCase()), ID)
  })

  test('is null for any other text', () => {
    for (const text of ['', 'x', ID.slice(1), `${ID}0`, ` ${ID}`, `${ID}\n`, ID.replaceAll('-', '')]) {
      assert.equal(parseJobId(text), null, JSON.stringify(text))
    }
  })

  test('comes after those that were made before it, also within a millisecond', () => {
    const ids = Array.from({ length: 20_000 }, newJobId)

    assert.deepEqual(ids, ids.toSorted())
    assert.equal(new Set(ids).size, ids.length)
  })

  test('is a UUIDv7 of the time at which it is made', () => {
    const before = Date.now()
    const id = newJobId()
    const after = Date.now()

    const ms = parseInt(id.replace('-', '').slice(0, 12), 16)
    assert.equal(version(id), 7)
    assert.equal(parseJobId(id), id)
    assert(before <= ms && ms <= after)
  })
})

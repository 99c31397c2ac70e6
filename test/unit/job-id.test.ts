import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseJobId } from '../../src/core/ledger/job.ts'

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
})

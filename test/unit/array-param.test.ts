import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numbersParam, textsParam } from '../../src/core/db/params.ts'
import { testDatabase } from '../support/database.ts'

test('an array reaches the database unchanged, whatever its values look like', async (t) => {
  const { database } = await testDatabase(t)
  const arrays = [
    [],
    [''],
    ['null', 'NULL', ''],
    ['a,b', '{c}', ' d ', "e'f", '\n\t', 'ü🎈'],
    ['one "quoted" value', 'plain'],
    ['back\\slash', '\\', '"', '","'],
  ]
  for (const texts of arrays) {
    const [row] = await database.query('select $1::text[] as texts', [textsParam(texts)])
    assert.deepEqual(row, { texts })
  }
  const numbers = [1, -2, 0, 2_147_483_647]
  assert.deepEqual(await database.query('select $1::integer[] as numbers', [numbersParam(numbers)]), [{ numbers }])
  assert.deepEqual(await database.query('select $1::integer[] as numbers', [numbersParam([])]), [{ numbers: [] }])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numbersParam, onceIfSame, textsParam, uuidsParam } from '../../src/core/db/params.ts'
import { isRefusedValue } from '../../src/core/db/database.ts'
import { sameInAll } from '../../src/core/db/sql.ts'
import { newJobId } from '../../src/core/random.ts'
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

test('ids reach the database unchanged, in binary form', async (t) => {
  const { database } = await testDatabase(t)
  const ids = [newJobId(), 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000010-0000-0010-0000-001000000010', newJobId()]

  assert(uuidsParam(ids) instanceof Buffer)
  assert.deepEqual(await database.query('select $1::uuid[]::text[] as ids', [uuidsParam(ids)]), [{ ids }])
  assert.deepEqual(await database.query('select $1::uuid[]::text[] as ids', [uuidsParam([])]), [{ ids: [] }])
})

test('a text that is no id is refused as a value, whatever stands beside it', async (t) => {
  const { database } = await testDatabase(t)
  const id = newJobId()
  for (const ids of [
    ['x'],
    [id, 'no id'],
    [`${id}00`, id.slice(2)],
    [id, id.replace('-', '\\')],
    [`${id.slice(0, -1)}g`],
  ])
    await assert.rejects(database.query('select $1::uuid[]', [uuidsParam(ids)]), isRefusedValue)
})

test('a column is sent once if its value is the same in all rows, and read by every row', async (t) => {
  const { database } = await testDatabase(t)
  const sql = `
    select ${sameInAll('$2::integer[]', 'other')} as value
      from unnest($1::integer[], $2::integer[]) as r (number, other) order by number`

  for (const values of [
    [7, 7, 7],
    [7, 8, 7],
    [7, null, null],
    [null, 7, null],
  ]) {
    const rows = await database.query<{ value: number | null }>(sql, [[1, 2, 3], onceIfSame(values, itself)])
    assert.deepEqual(
      rows.map(({ value }) => value),
      values,
    )
  }
  assert.deepEqual(onceIfSame(['a', 'a'], itself), ['a'])
  assert.deepEqual(onceIfSame([], itself), [])
})

const itself = <T>(value: T): T => value

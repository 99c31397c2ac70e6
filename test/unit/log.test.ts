import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openLog } from '../../src/core/log/log.ts'
import { testDatabase } from '../support/database.ts'

const CANARY = 'canary-4711'

describe('an error in the log', () => {
  test('of PostgreSQL about a value says where and why, and never the value', async (t) => {
    const { database } = await testDatabase(t)
    await database.query(`create table if not exists birds (name text primary key, age integer check (age < 9))`)
    await database.query(`insert into birds values ('${CANARY}', 1)`)
    const failing = [
      [`select $1::uuid`, [CANARY], '22P02'],
      [`select $1::json`, [`{"${CANARY}`], '22P02'],
      [`select $1::timestamptz`, [CANARY], '22007'],
      [`insert into birds values ($1, 2)`, [CANARY], '23505'],
      [`insert into birds values ($1, 10)`, [`${CANARY}-2`], '23514'],
      [`insert into birds values ($1, 99999999999)`, [CANARY], '22003'],
    ] as const

    for (const [sql, params, code] of failing) {
      const lines: string[] = []
      const log = openLog({ LOG_LEVEL: 'info' }, { write: (line) => void lines.push(line) })
      const error: unknown = await database.query(sql, params).catch((error: unknown) => error)
      log.error({ err: error }, 'request failed')

      assert(error instanceof Error)
      const { err } = JSON.parse(lines[0] ?? '')
      assert.equal(err.code, code)
      assert.match(err.stack, /^ {4}at /)
      assert.doesNotMatch(lines.join(''), new RegExp(CANARY), sql)
    }
  })

  test('of anything else keeps its message and its stack', () => {
    const lines: string[] = []

    openLog({ LOG_LEVEL: 'info' }, { write: (line) => void lines.push(line) }).error({ err: new TypeError('oh') }, 'x')

    const { err } = JSON.parse(lines[0] ?? '')
    assert.deepEqual([err.type, err.message], ['TypeError', 'oh'])
    assert.match(err.stack, /^TypeError: oh\n {4}at /)
  })

  test('of another thread, which is already serialized, keeps what explains it and nothing else', () => {
    const lines: string[] = []
    const err = { type: 'Error', message: 'EEXIST', code: 'EEXIST', stack: 'at mkdir', connection: CANARY }

    openLog({ LOG_LEVEL: 'info' }, { write: (line) => void lines.push(line) }).error({ err }, 'judging failed')

    const { connection: _, ...explains } = err
    assert.deepEqual(JSON.parse(lines[0] ?? '').err, explains)
  })
})

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { Client, types } from 'pg'
import { PreparedStatement } from '../../src/core/db/prepared-statement.ts'
import { openDatabase, sqlState } from '../../src/core/db/database.ts'
import { atEnd } from '../support/cleanup.ts'
import { testDatabase } from '../support/database.ts'

const SYNTAX_ERROR = '42601'
const DIVISION_BY_ZERO = '22012'
const MONEY = 790 // a type that nothing here uses
const LARGER_THAN_COPIED = 20_000

/** One pipelined connection, and what PostgreSQL says on it. */
async function setup(t: TestContext) {
  const { at } = await testDatabase(t)
  const client = new Client({ ...at, pipeline: true })
  await client.connect()
  atEnd(t, () => client.end())
  const heard: string[] = []
  client.connection.on('message', ({ name }: { name: string }) => heard.push(name))
  const ask = (text: string, values: readonly unknown[] = []) =>
    new Promise<object[]>((resolve, reject) => {
      client.query(new PreparedStatement({ name: `test ${text}`.slice(0, 60), text, values, resolve, reject }))
    })
  const count = (message: string) => heard.filter((name) => name === message).length
  return { client, ask, count }
}

const ROWS = 'select n, n::text as word, n % 2 = 0 as even, null as nothing from generate_series(1, $1::integer) as n'
const DIVIDE = 'select 1 / $1::integer as quotient'

describe('a statement', () => {
  test('has its columns described once per connection, and its rows each time', async (t) => {
    const { ask, count } = await setup(t)

    const first = await ask(ROWS, [2])
    const second = await ask(ROWS, [1])

    assert.deepEqual(first, [
      { n: 1, word: '1', even: false, nothing: null },
      { n: 2, word: '2', even: true, nothing: null },
    ])
    assert.deepEqual(second, [{ n: 1, word: '1', even: false, nothing: null }])
    assert.equal(count('parseComplete'), 1)
    assert.equal(count('rowDescription'), 1)
  })

  test('that is sent again before the first answer gets its own rows', async (t) => {
    const { ask, count } = await setup(t)

    const answers = await Promise.all([1, 2, 3, 0].map((rows) => ask(ROWS, [rows])))

    assert.deepEqual(
      answers.map((rows) => rows.length),
      [1, 2, 3, 0],
    )
    assert.equal(count('parseComplete'), 1)
  })

  test('without columns is described once, too', async (t) => {
    const { ask, count } = await setup(t)
    await ask('create temporary table kept (n integer)')

    for (const n of [1, 2, 3]) assert.deepEqual(await ask('insert into kept values ($1)', [n]), [])

    assert.deepEqual(await ask('select sum(n)::integer as sum from kept'), [{ sum: 6 }])
    assert.equal(count('noData'), 2)
  })

  test('keeps values that a large message carries', async (t) => {
    const { ask } = await setup(t)
    const text = '✓'.repeat(LARGER_THAN_COPIED)

    for (const round of [1, 2])
      assert.deepEqual(await ask('select $1::text as text, $2::bytea as bytes', [text, Buffer.from([round, 0, 255])]), [
        { text, bytes: Buffer.from([round, 0, 255]) },
      ])
  })

  test('that PostgreSQL cannot parse fails each time, and others go on', async (t) => {
    const { ask } = await setup(t)

    for (const _round of [1, 2]) {
      const [wrong, right] = await Promise.allSettled([ask('selec 1'), ask(ROWS, [1])])

      assert.equal(wrong.status === 'rejected' && sqlState(wrong.reason), SYNTAX_ERROR)
      assert.equal(right.status, 'fulfilled')
    }
  })

  test('that fails while it runs fails alone', async (t) => {
    const { ask } = await setup(t)
    await ask(DIVIDE, [1])

    const [before, failed, after] = await Promise.allSettled([ask(DIVIDE, [1]), ask(DIVIDE, [0]), ask(DIVIDE, [1])])

    assert.deepEqual(before, { status: 'fulfilled', value: [{ quotient: 1 }] })
    assert.equal(failed.status === 'rejected' && sqlState(failed.reason), DIVISION_BY_ZERO)
    assert.deepEqual(after, { status: 'fulfilled', value: [{ quotient: 1 }] })
  })

  test('with a value that cannot be sent fails alone, whether its columns are known or not', async (t) => {
    const { ask } = await setup(t)
    const endless: Record<string, unknown> = {}
    endless['self'] = endless

    for (const round of ['unknown', 'known']) {
      const [failed, after] = await Promise.allSettled([ask('select $1::json as j', [endless]), ask(ROWS, [1])])

      assert.equal(failed.status, 'rejected', round)
      assert.equal(after.status, 'fulfilled', round)
      assert.deepEqual(await ask('select $1::json as j', [{ a: 1 }]), [{ j: { a: 1 } }])
    }
  })

  test('whose answer cannot be read fails after it, and others go on', async (t) => {
    const { ask } = await setup(t)
    types.setTypeParser(MONEY, () => assert.fail('unreadable'))

    for (const round of ['unknown', 'known']) {
      const [failed, after] = await Promise.allSettled([ask('select 1::money as price'), ask(ROWS, [1])])

      assert.match(String(failed.status === 'rejected' && failed.reason), /unreadable/, round)
      assert.equal(after.status, 'fulfilled', round)
    }
  })

  test('whose columns have changed since is refused by PostgreSQL', async (t) => {
    const { ask } = await setup(t)
    await ask('create temporary table kept (n integer)')
    await ask('select * from kept')
    await ask('alter table kept add column word text')

    await assert.rejects(ask('select * from kept'), /cached plan must not change result type/)
  })

  test('whose columns have changed since fails once: the next one gets another connection', async (t) => {
    const { at, database } = await testDatabase(t)
    const other = openDatabase(at, () => {})
    atEnd(t, () => other.close())
    await database.query('create table kept (n integer)')
    for (const pool of [other, other.hot]) assert.deepEqual(await pool.query('select * from kept'), [])
    await database.query('alter table kept add column word text')

    for (const pool of [other, other.hot]) {
      await assert.rejects(pool.query('select * from kept'), /cached plan/)
      assert.deepEqual(await pool.query('select * from kept'), [])
    }
    await assert.rejects(other.transaction((tx) => tx.query('select * from kept where n = $1', ['x'])))
    assert.deepEqual(await other.query('select * from kept'), [])
  })

  test('is answered by its callback, which `pg` replaces to end the timer of a query_timeout', async (t) => {
    const { client } = await setup(t)
    const heard: string[] = []
    const ask = (text: string) =>
      new Promise<void>((resolve) => {
        const end = () => resolve()
        const statement = new PreparedStatement({ name: text, text, values: [], resolve: end, reject: end })
        const { callback } = statement
        statement.callback = (error, rows) => {
          heard.push(error === null ? 'rows' : 'error')
          callback(error, rows)
        }
        client.query(statement)
      })

    await ask('select 1')
    await ask('selec 1')

    assert.deepEqual(heard, ['rows', 'error'])
  })

  test('fails when its connection ends before the answer', async (t) => {
    const { client, ask } = await setup(t)
    client.on('error', () => {})

    const asked = ask('select pg_sleep(60)')
    client.connection.stream.destroy()

    await assert.rejects(asked, /Connection terminated/)
  })
})

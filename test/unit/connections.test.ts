import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { openDatabase, type Queryable } from '../../src/core/db/database.ts'
import { atEnd } from '../support/cleanup.ts'
import { testDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

async function setup(t: TestContext) {
  const { database: other, at } = await testDatabase(t)
  const errors: string[] = []
  const database = openDatabase(at, (error) => errors.push(error.message))
  let closed: Promise<void> | null = null
  const close = () => (closed ??= database.close())
  atEnd(t, close)
  return { database, errors, other, close }
}

const backendOf = async (on: Queryable): Promise<number> =>
  (await on.query<{ pid: number }>('select pg_backend_pid() as pid'))[0]?.pid ?? 0

const hotOf = ({ pools }: Awaited<ReturnType<typeof setup>>['database']) => pools().find(({ name }) => name === 'hot')

describe('the connections of a pool', () => {
  test('calls one after the other use the same, which counts as idle between them', async (t) => {
    const { database } = await setup(t)

    const first = await backendOf(database.hot)
    const between = hotOf(database)
    const second = await database.hot.transaction(backendOf)
    const third = await database.hot.inTurn(backendOf)

    assert.deepEqual([second, third], [first, first])
    assert.deepEqual(between, { name: 'hot', busy: 0, idle: 1, waiting: 0 })
  })

  test('calls at the same time have one each, and more calls than connections all get their turn', async (t) => {
    const { database } = await setup(t)
    await backendOf(database.hot)
    const slowly = (on: Queryable) => on.query<{ pid: number }>('select pg_backend_pid() as pid from pg_sleep(0.02)')

    const backends = await Promise.all(Array.from({ length: 50 }, () => database.hot.inTurn(slowly)))

    assert.equal(new Set(backends.map(([row]) => row?.pid)).size, 10)
    assert.deepEqual([hotOf(database)?.busy, hotOf(database)?.waiting], [0, 0])
  })

  test('one that breaks while nobody uses it is reported once, and the next call has another', async (t) => {
    const { database, errors, other } = await setup(t)
    const broken = await backendOf(database.hot)

    await other.query('select pg_terminate_backend($1)', [broken])
    await until('it is noticed', async () => errors.length > 0)
    const next = await backendOf(database.hot)

    assert.notEqual(next, broken)
    assert.equal(errors.length, 1)
    assert.deepEqual([hotOf(database)?.busy, hotOf(database)?.idle], [0, 1])
  })

  test('one whose statement fails is used again, and one that breaks under a statement is not', async (t) => {
    const { database } = await setup(t)
    const first = await backendOf(database.hot)

    await assert.rejects(database.hot.query('select 1 / $1::integer', [0]))
    const second = await backendOf(database.hot)
    await assert.rejects(database.hot.query('select pg_terminate_backend(pg_backend_pid())'))
    const third = await backendOf(database.hot)

    assert.equal(second, first)
    assert.notEqual(third, first)
  })

  test('one that breaks in use, after its last answer, is not kept', async (t) => {
    const { database, other } = await setup(t)

    const broken = await database.hot.inTurn(async (on) => {
      const backend = await backendOf(on)
      await other.query('select pg_terminate_backend($1)', [backend])
      await until('it is gone', async () => {
        const open = await other.query('select from pg_stat_activity where pid = $1', [backend])
        return open.length === 0
      })
      await new Promise((resolve) => setTimeout(resolve, 50)) // this process hears of it while it is in use, or else later
      return backend
    })

    await until('it is closed', async () => hotOf(database)?.idle === 0)
    assert.notEqual(await backendOf(database.hot), broken)
  })

  test('a close waits for those in use, and then no connection is left', async (t) => {
    const { database, other, close } = await setup(t)
    const kept = await backendOf(database.hot)
    const asked = database.hot.query('select pg_sleep(0.05)')

    await close()

    await asked
    await until('the server has noticed', async () => {
      const open = await other.query('select from pg_stat_activity where pid = $1', [kept])
      return open.length === 0
    })
  })
})

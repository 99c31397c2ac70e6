import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { Client } from 'pg'
import { isLostConnection, openDatabase, sqlState, type Database, type Tx } from '../../src/core/db/database.ts'
import { testDatabase } from '../support/database.ts'

const UNIQUE_VIOLATION = '23505'
const DIVISION_BY_ZERO = '22012'

async function setup(t: TestContext) {
  const { database, at } = await testDatabase(t)
  await database.query('create table if not exists kept (n integer unique deferrable initially immediate)')
  return { database, at }
}

const INSERT = 'insert into kept (n) values ($1)'
const DIVIDE = 'select 1 / $1::integer'
const countOf = async (database: Database) => (await database.query('select from kept')).length

/** Nothing was left open, and whichever connection of the pool is next can be used. */
async function allUsable(database: Database) {
  const open = await database.query(
    `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
  )
  assert.equal(open.length, 0)
  await Promise.all(Array.from({ length: 20 }, () => countOf(database)))
}

const failingBy = (code: string) => (error: unknown) => {
  assert.equal(sqlState(error), code, String(error))
  return true
}

describe('a transaction whose statements nobody waits for', () => {
  test('keeps them all, in their turn', async (t) => {
    const { database } = await setup(t)

    const seen = await database.transaction(async (tx) => {
      for (const n of [1, 2, 3]) tx.send(INSERT, [n])
      return tx.query('select n from kept order by n')
    })

    assert.deepEqual(seen, [{ n: 1 }, { n: 2 }, { n: 3 }])
    assert.equal(await countOf(database), 3)
  })

  const failures: Record<string, (tx: Tx) => Promise<unknown>> = {
    'the last': async (tx) => tx.send(DIVIDE, [0]),
    'one with others after it': async (tx) => {
      tx.send(DIVIDE, [0])
      tx.send(INSERT, [2])
    },
    'one before a query that is waited for': async (tx) => {
      tx.send(DIVIDE, [0])
      await tx.query('select n from kept')
    },
    'one before a query that would fail by itself': async (tx) => {
      tx.send(DIVIDE, [0])
      await tx.query('select * from no_such_table')
    },
    'one before the work itself throws': async (tx) => {
      tx.send(DIVIDE, [0])
      throw new Error('the work gave up')
    },
  }
  for (const [which, work] of Object.entries(failures)) {
    test(`one that fails rejects with its own error, and nothing is kept: ${which}`, async (t) => {
      const { database } = await setup(t)

      await assert.rejects(
        database.transaction(async (tx) => {
          tx.send(INSERT, [1])
          await work(tx)
        }),
        failingBy(DIVISION_BY_ZERO),
      )

      assert.equal(await countOf(database), 0)
      await allUsable(database)
    })
  }

  test('work that throws by itself rejects with what it threw, and nothing is kept', async (t) => {
    const { database } = await setup(t)
    const thrown = new Error('the work gave up')

    const done = database.transaction(async (tx) => {
      tx.send(INSERT, [1])
      throw thrown
    })

    await assert.rejects(done, (error) => error === thrown)
    assert.equal(await countOf(database), 0)
  })

  test('a deferred constraint rejects the commit, and nothing is kept', async (t) => {
    const { database } = await setup(t)

    const done = database.transaction(async (tx) => {
      tx.send('set constraints all deferred')
      tx.send(INSERT, [1])
      tx.send(INSERT, [1])
    })

    await assert.rejects(done, failingBy(UNIQUE_VIOLATION))
    assert.equal(await countOf(database), 0)
    await allUsable(database)
  })
})

describe('a transaction whose connection breaks', () => {
  for (const [when, rest] of Object.entries({
    'while a sent statement runs': async (tx: Tx): Promise<void> => tx.send('select pg_sleep(600)'),
    'while a query is waited for': async (tx: Tx): Promise<void> => void (await tx.query('select pg_sleep(600)')),
  })) {
    test(`${when} rejects, keeps nothing, and its connection does not come back`, async (t) => {
      const { database, at } = await setup(t)
      const other = new Client(at)
      await other.connect()
      t.after(() => other.end())
      let pid = 0

      const done = database.transaction(async (tx) => {
        tx.send(INSERT, [1])
        pid = Number((await tx.query<{ pid: number }>('select pg_backend_pid() as pid'))[0]?.pid)
        const ended = rest(tx)
        ended.catch(() => {}) // it is looked at below
        await other.query('select pg_terminate_backend($1)', [pid])
        await ended
      })

      await assert.rejects(done, isLostConnection)
      assert.equal(await countOf(database), 0)
      const pids = await Promise.all(
        Array.from({ length: 20 }, () => database.query<{ pid: number }>('select pg_backend_pid() as pid')),
      )
      assert(!pids.flat().some((row) => row.pid === pid))
    })
  }
})

/** A server that greets and says goodbye with the same bytes, as one does that is being shut down. */
async function fleetingServer(t: TestContext) {
  const message = (type: string, body: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeInt32BE(body.length + 4)
    return Buffer.concat([Buffer.from(type), length, body])
  }
  const goodbye = Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')
  const greeting = [message('R', Buffer.alloc(4)), message('Z', Buffer.from('I')), message('E', goodbye)]
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(Buffer.concat(greeting)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  assert(address !== null && typeof address === 'object')
  return { host: '127.0.0.1', port: address.port, user: 'any', database: 'any' }
}

describe('a connection that closes as soon as it is open', () => {
  const uses: Record<string, (database: Database) => Promise<unknown>> = {
    'a query': (database) => database.query('select 1'),
    'statements in turn': (database) => database.inTurn((on) => on.query('select 1')),
    'a transaction': (database) => database.transaction((tx) => tx.query('select 1')),
  }
  for (const [what, use] of Object.entries(uses)) {
    test(`rejects ${what}, and the process lives on`, async (t) => {
      const database = openDatabase(await fleetingServer(t), () => {})
      t.after(() => database.close())

      for (let times = 0; times < 3; times += 1) await assert.rejects(use(database), isLostConnection)
    })
  }
})

test('a statement that takes long on a healthy connection is left alone', async (t) => {
  const { database } = await testDatabase(t)

  const [row] = await database.query<{ slept: boolean }>('select pg_sleep(6) is not null as slept')

  assert.deepEqual(row, { slept: true })
})

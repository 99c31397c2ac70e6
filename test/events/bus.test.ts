import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import net from 'node:net'
import { describe, test } from 'node:test'
import { Redis } from 'ioredis'
import type { Client } from 'pg'
import type { Database } from '../../src/core/db/database.ts'
import type { Bus } from '../../src/core/events/bus.ts'
import { openEvents } from '../../src/core/events/events.ts'
import { openPostgresBus } from '../../src/core/events/postgres-bus.ts'
import { openRedisBus } from '../../src/core/events/redis-bus.ts'
import { atEnd } from '../support/cleanup.ts'
import { sharedRedis, startRedis } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { BUSES, collector, event, setupEvents } from './setup.ts'

/** The next message, as a promise that is made before it is sent. */
const nextOn = (bus: Bus, channel: string) =>
  new Promise<string>((resolve) => {
    const stop = bus.subscribe(channel, (message) => {
      stop()
      resolve(message)
    })
  })

/** Once the server listens, it says that messages may have been lost until then. */
const listening = (bus: Bus, channel: string, listener: (message: string) => void = () => {}) =>
  new Promise<void>((resolve) => bus.subscribe(channel, listener, resolve))

for (const kind of BUSES) {
  describe(`the bus on ${kind}`, () => {
    test('a listener in the same process gets a message at once, and only once', async (t) => {
      const { bus } = await setupEvents(t, kind)
      const heard: string[] = []
      await listening(bus, 'c', (message) => heard.push(message))

      bus.publish('c', 'first\nsecond\tthird')
      const atOnce = [...heard]
      const last = nextOn(bus, 'c')
      bus.publish('c', 'last')
      await last

      assert.deepEqual(atOnce, ['first\nsecond\tthird'])
      assert.deepEqual(heard, ['first\nsecond\tthird', 'last'])
    })

    test('another process gets a message, on its own channel only', async (t) => {
      const { bus, peer } = await setupEvents(t, kind)
      const other = (await peer()).bus
      const heard: string[] = []
      await listening(other, 'a', (message) => heard.push(`a ${message}`))
      await listening(other, 'b')
      const last = nextOn(other, 'b')

      bus.publish('a', 'x\ny')
      bus.publish('nobody', 'z')
      bus.publish('b', 'last')

      assert.equal(await last, 'last')
      assert.deepEqual(heard, ['a x\ny'])
    })

    test('a listener that has unsubscribed gets nothing more, and the others still do', async (t) => {
      const { bus, peer } = await setupEvents(t, kind)
      const other = (await peer()).bus
      const heard: string[] = []
      const stop = other.subscribe('c', () => heard.push('stopped'))
      await listening(other, 'd')
      const stays = nextOn(other, 'c')

      stop()
      bus.publish('c', 'x')

      assert.equal(await stays, 'x')
      assert.deepEqual(heard, [])
    })
  })
}

test('PostgreSQL: what happens while LISTEN is on its way is not missed', async (t) => {
  const { database, peer, write, dispatch } = await setupEvents(t, 'PostgreSQL')
  const witness = collector()
  await (await peer()).events.subscribe('c', { since: 0 }, witness.listener)
  const late = lateListener(database)
  const bus = await openPostgresBus(late.database, (error) => assert.fail(String(error)))
  atEnd(t, () => bus.close())
  const events = openEvents(database, bus, (error) => assert.fail(String(error)))
  const heard = collector()
  await write(event(1))
  await dispatch()
  const subscription = await events.subscribe('c', { since: 0 }, heard.listener)
  atEnd(t, () => subscription.close())
  await late.asked
  await heard.until(1) // its first read of the log is over

  await write(event(2))
  await dispatch()
  await witness.until(2) // the hint has come and gone
  const before = heard.payloads()
  late.letGo()
  await heard.until(2)

  assert.deepEqual(before, [1])
  assert.deepEqual(heard.payloads(), [1, 2])
})

/** A database whose listening connection holds its LISTEN back until it is let go. */
function lateListener(database: Database) {
  const gate = new EventEmitter()
  const [asked, opened] = [once(gate, 'asked'), once(gate, 'open')]
  const holdBack = (client: Client): Client =>
    new Proxy(client, {
      get(target, name) {
        if (name !== 'query') return Reflect.get(target, name, target)
        return async (sql: string) => {
          gate.emit('asked')
          await opened
          return target.query(sql)
        }
      },
      set: (target, name, value) => Reflect.set(target, name, value, target),
    })
  const late: Database = { ...database, connect: async () => holdBack(await database.connect()) }
  return { database: late, asked, letGo: () => gate.emit('open') }
}

test('PostgreSQL: a listener whose connection was cut reads the log again and has missed nothing', async (t) => {
  const { peer, write, dispatch, database } = await setupEvents(t, 'PostgreSQL')
  const other = await peer()
  const heard = collector()
  await other.events.subscribe('c', { since: 0 }, heard.listener)
  await listening(other.bus, 'd')
  const gap = new Promise<void>((resolve) => other.bus.subscribe('d', () => {}, resolve))

  await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'reeve listen'`,
  )
  await write(event(1))
  await dispatch()
  await gap
  await heard.until(1)
  await write(event(2))
  await dispatch()
  await heard.until(2)

  assert.deepEqual(heard.payloads(), [1, 2])
})

test('Redis: a bus whose ping got no answer closes while Redis is away', async (t) => {
  const { hostname, port } = new URL(await sharedRedis())
  const sockets: net.Socket[] = []
  const server = net.createServer((client) => {
    const redis = net.connect(Number(port), hostname)
    for (const socket of [client, redis]) sockets.push(socket.on('error', () => {}))
    redis.pipe(client)
    client.on('data', (bytes) => {
      if (!/ping/i.test(String(bytes))) return void redis.write(bytes)
      server.close()
      for (const socket of sockets) socket.destroy()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  atEnd(t, () => sockets.forEach((socket) => socket.destroy()))
  const address = server.address()
  assert(address !== null && typeof address === 'object')
  let refused = 0
  const bus = await openRedisBus(`redis://127.0.0.1:${address.port}`, (error) => {
    if (String(error).includes('ECONNREFUSED')) refused += 1
  })
  await until('both connections are refused, again and again', () => refused > 5)

  await bus.close()
})

test('Redis: a listener whose connection was cut is told of the gap, and hears what is said after it', async (t) => {
  const redis = await startRedis()
  atEnd(t, redis.stop)
  const [bus, other] = [await openRedisBus(redis.at, () => {}), await openRedisBus(redis.at, () => {})]
  atEnd(t, () => Promise.all([bus.close(), other.close()]))
  await listening(other, 'c')
  const gap = new Promise<void>((resolve) => other.subscribe('c', () => {}, resolve))
  const admin = new Redis(redis.at)
  await once(admin, 'ready')

  await admin.call('client', 'kill', 'type', 'pubsub')
  await gap
  const heard = nextOn(other, 'c')
  bus.publish('c', 'after')

  assert.equal(await heard, 'after')
  admin.disconnect()
})

test('PostgreSQL: a burst of hints, the same and different ones, arrives whole', async (t) => {
  const { bus, peer } = await setupEvents(t, 'PostgreSQL')
  const other = (await peer()).bus
  const heard = new Set<string>()
  const said = new EventEmitter()
  const ended = once(said, 'last')
  await listening(other, 'c', (message) => {
    heard.add(message)
    said.emit(message)
  })

  for (let n = 0; n < 500; n += 1) bus.publish('c', `message ${n % 250}`)
  bus.publish('c', 'last')
  await ended

  assert.equal(heard.size, 251)
})

test('PostgreSQL: after a silence a message may be sent within a commit; every listener gets it once', async (t) => {
  const { bus, peer, database } = await setupEvents(t, 'PostgreSQL')
  const other = (await peer()).bus
  const heard: string[] = []
  await listening(bus, 'c', (message) => heard.push(`here ${message}`))
  await listening(other, 'c', (message) => heard.push(`there ${message}`))
  const ends = nextOn(other, 'c')

  const first = bus.within?.('c', 'x') ?? assert.fail('the bus is silent')
  const second = bus.within?.('c', 'y')
  await database.query('select pg_notify($1, $2)', [first.channel, first.message])
  first.said()

  assert.equal(await ends, 'x')
  assert.equal(second, null) // commits that notify wait for each other
  assert.deepEqual(heard.sort(), ['here x', 'there x'])
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BUSES, collector, event, setupEvents, upTo } from './setup.ts'

/** A row of the outbox that whoever copied it has not deleted. */
const PUT_BACK = `
  insert into outbox_events (outbox_id, topic, payload) overriding system value values ($1, 'event', $2)`

describe('the log of events', () => {
  test('an event is in the log once it was dispatched, with everything it was given, and only once', async (t) => {
    const { events, write, dispatch, database } = await setupEvents(t, 'PostgreSQL')
    await write({ channel: 'c', type: 'started', payload: { a: [1] } })
    const before = await events.since('c', 0, 10)

    await dispatch()
    await dispatch()

    assert.deepEqual(before, [])
    const [first, ...rest] = await events.since('c', 0, 10)
    assert.deepEqual(rest, [])
    assert.deepEqual([first?.id, first?.channel, first?.type, first?.payload], [1, 'c', 'started', { a: [1] }])
    assert(first?.at instanceof Date)
    assert.deepEqual(await database.query('select from outbox_events'), [])
  })

  test('events are read by channel, after an id, in pages', async (t) => {
    const { events, write, dispatch } = await setupEvents(t, 'PostgreSQL')
    await write(event(1), event(2, 'other'), event(3), event(4))
    await dispatch()
    const read = async (since: number, limit: number) =>
      (await events.since('c', since, limit)).map(({ payload }) => payload)

    assert.deepEqual(await read(0, 2), [1, 3])
    assert.deepEqual(await read(1, 10), [3, 4])
    assert.deepEqual(await read(4, 10), [])
    assert.equal(await events.lastId('c'), 4)
    assert.equal(await events.lastId('nobody'), 0)
  })

  test('a transition that rolls back has no event', async (t) => {
    const { database, events, dispatch } = await setupEvents(t, 'PostgreSQL')
    const { sql, row } = events.effect(event(1))

    const undone = database.transaction(async (tx) => {
      await tx.query(sql, [JSON.stringify([row])])
      throw new Error('no')
    })
    await assert.rejects(undone, /no/)
    await dispatch()

    assert.deepEqual(await events.since('c', 0, 10), [])
  })

  test('a row that is copied twice is one event', async (t) => {
    const { database, events, dispatch } = await setupEvents(t, 'PostgreSQL')
    await database.query(PUT_BACK, [7, event(1)])
    await dispatch()

    await database.query(PUT_BACK, [7, event(1)])
    await dispatch()

    assert.equal((await events.since('c', 0, 10)).length, 1)
    assert.deepEqual(await database.query('select from outbox_events'), [])
  })

  test('an event that the log could not hold is refused when it is written', async (t) => {
    const { write, database } = await setupEvents(t, 'PostgreSQL')

    await assert.rejects(write({ channel: 'c', type: 't', payload: 'nul: \0' }))
    await assert.rejects(write({ channel: 'c\0', type: 't', payload: 1 }))

    assert.deepEqual(await database.query('select from outbox_events'), [])
  })

  test('ids rise in the order in which events become visible, however many dispatchers copy them', async (t) => {
    const { peer, events, write, dispatch } = await setupEvents(t, 'PostgreSQL')
    const other = await peer()
    const seen: number[] = []
    const written = new AbortController()

    const reader = async () => {
      while (!written.signal.aborted)
        seen.push(...(await events.since('c', seen.at(-1) ?? 0, 1000)).map((one) => one.id))
    }
    const writer = async () => {
      for (let n = 0; n < 20; n += 1) {
        await Promise.all([write(event(n), event(n)), other.write(event(n))])
        await Promise.all([dispatch(), other.dispatch()])
      }
      written.abort()
    }
    await Promise.all([reader(), writer()])
    seen.push(...(await events.since('c', seen.at(-1) ?? 0, 1000)).map((one) => one.id))

    const all = (await events.since('c', 0, 1000)).map((one) => one.id)
    assert.equal(all.length, 60)
    assert.deepEqual(seen, all) // a reader that goes on from the last id it saw has missed none
  })

  test('a time gives the id of the last event before it', async (t) => {
    const { database, events, write, dispatch } = await setupEvents(t, 'PostgreSQL')
    await write(event(1), event(2), event(3))
    await dispatch()
    await database.query(
      `update events set created_at = timestamptz '2026-01-01T00:00:00Z' + event_id * interval '1 s'`,
    )

    const ids = ['00:00:00', '00:00:02', '00:00:59'].map((time) =>
      events.lastIdAt('c', new Date(`2026-01-01T${time}Z`)),
    )

    assert.deepEqual(await Promise.all(ids), [0, 2, 3])
  })

  test('old events are deleted, up to the limit', async (t) => {
    const { database, events, write, dispatch } = await setupEvents(t, 'PostgreSQL')
    await write(event(1), event(2), event(3))
    await dispatch()
    await database.query(`update events set created_at = clock_timestamp() - interval '3 hours' where event_id < 3`)

    await events.deleteOld(2, 1)
    const afterOne = (await events.since('c', 0, 10)).length
    await events.deleteOld(2, 10)

    assert.equal(afterOne, 2)
    assert.deepEqual(
      (await events.since('c', 0, 10)).map(({ payload }) => payload),
      [3],
    )
  })
})

for (const kind of BUSES) {
  describe(`a subscription on ${kind}`, () => {
    test('without an id it begins now; with one it begins after it', async (t) => {
      const { events, write, dispatch } = await setupEvents(t, kind)
      await write(event(1), event(2))
      await dispatch()
      const [fromNow, fromFirst] = [collector(), collector()]
      await events.subscribe('c', {}, fromNow.listener)
      await events.subscribe('c', { since: 1 }, fromFirst.listener)

      await write(event(3), event(0, 'other'))
      await dispatch()
      await Promise.all([fromNow.until(1), fromFirst.until(2)])

      assert.deepEqual(fromNow.payloads(), [3])
      assert.deepEqual(fromFirst.payloads(), [2, 3])
    })

    test('another process hears of events, however many channels one batch has', async (t) => {
      const { peer, write, dispatch } = await setupEvents(t, kind)
      const other = await peer()
      const names = upTo(400).map((n) => `channel of a job ${n}`)
      const heard = collector()
      for (const name of names) await other.events.subscribe(name, { since: 0 }, heard.listener)
      await other.events.lastId('c')

      await write(...names.map((name, n) => event(n + 1, name)))
      await dispatch()
      await heard.until(400)

      assert.deepEqual(
        heard.payloads().toSorted((a, b) => Number(a) - Number(b)),
        upTo(400),
      )
    })

    test('after a dispatcher died between the log and the hint, the next delivery sends the hint', async (t) => {
      const { peer, database, dispatch } = await setupEvents(t, kind)
      const other = await peer()
      const heard = collector()
      await other.events.subscribe('c', { since: 0 }, heard.listener)
      await database.query(PUT_BACK, [7, event(1)])
      await database.query(`insert into events (outbox_id, channel, type, payload) values (7, 'c', 'counted', '1')`)

      await dispatch()
      await heard.until(1)

      assert.deepEqual(heard.payloads(), [1])
    })

    test('a full page is followed by the next', async (t) => {
      const { events, write, dispatch } = await setupEvents(t, kind)
      await write(...upTo(450).map((n) => event(n)))
      await dispatch()
      const heard = collector()

      await events.subscribe('c', { since: 0 }, heard.listener)
      await heard.until(450)

      assert.deepEqual(heard.payloads(), upTo(450))
    })

    test('a subscriber that joins while others write misses nothing and gets nothing twice', async (t) => {
      const { peer, write, dispatch } = await setupEvents(t, kind)
      const other = await peer()
      const heard = Array.from({ length: 10 }, () => collector())
      const writeAll = async () => {
        for (let n = 0; n < 100; n += 1) {
          await Promise.all([write(event(n)), other.write(event(n))])
          await Promise.all([dispatch(), other.dispatch()])
          if (n % 10 === 5) {
            const mine = heard[(n - 5) / 10]
            if (mine !== undefined) void other.events.subscribe('c', { since: 0 }, mine.listener)
          }
        }
      }

      await writeAll()
      await Promise.all(heard.map((one) => one.until(200)))

      for (const { seen } of heard) {
        assert.equal(seen.length, 200)
        assert(seen.every((one, index) => index === 0 || one.id > (seen[index - 1]?.id ?? 0)))
      }
    })

    test('a closed subscription receives nothing more', async (t) => {
      const { events, write, dispatch } = await setupEvents(t, kind)
      const [closed, open] = [collector(), collector()]
      const subscription = await events.subscribe('c', {}, closed.listener)
      await events.subscribe('c', {}, open.listener)

      subscription.close()
      await write(event(1))
      await dispatch()
      await open.until(1)

      assert.deepEqual(closed.seen, [])
    })
  })
}

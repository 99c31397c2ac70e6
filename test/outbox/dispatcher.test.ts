import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { describe, test, type TestContext } from 'node:test'
import { openDatabase } from '../../src/core/db/database.ts'
import type { Delivered } from '../../src/core/outbox/delivery.ts'
import { openDispatcher } from '../../src/core/outbox/dispatcher.ts'
import { openOutbox } from '../../src/core/outbox/outbox.ts'
import { runLoop } from '../../src/core/loop.ts'
import { atEnd } from '../support/cleanup.ts'
import { allFail, allOk, deliveryOf, setupOutbox } from './setup.ts'

describe('a delivery that succeeds', () => {
  test('its rows come in order with their attempt number, and are deleted', async (t) => {
    const { write, rows, dispatch } = await setupOutbox(t)
    await write(3)
    const seen: unknown[] = []

    const more = await dispatch(
      deliveryOf((batch) => {
        seen.push(...batch)
        return allOk(batch)
      }),
    )

    assert.equal(more, false)
    assert.deepEqual(
      seen,
      [1, 2, 3].map((n) => ({ outboxId: n, jobId: null, topic: 'test', payload: n, attempts: 1 })),
    )
    assert.deepEqual(await rows(), [])
  })

  test('kept rows are marked delivered with the entry id of the other side, and are not delivered again', async (t) => {
    const { write, rows, dispatch, comeDue } = await setupOutbox(t)
    await write(1)
    const delivery = deliveryOf((batch) => batch.map((row) => ({ ok: true, entryId: `e${row.outboxId}` })), {
      keeps: true,
    })
    await dispatch(delivery)
    await comeDue()

    const again = await dispatch({ ...delivery, deliver: () => assert.fail('delivered twice') })

    assert.equal(again, false)
    const [row] = await rows()
    assert.deepEqual(
      [row?.status, row?.attempts, row?.stream_entry_id, row?.dispatched, row?.last_error],
      ['delivered', 1, 'e1', true, null],
    )
  })

  test('a full batch says that there may be more, and each topic is its own', async (t) => {
    const { write, rows, dispatch } = await setupOutbox(t)
    await write(3)
    await write(1, 'other')

    const more = [
      await dispatch(deliveryOf(allOk, { rowsMax: 2 })),
      await dispatch(deliveryOf(allOk, { rowsMax: 2 })),
      await dispatch(deliveryOf(allOk, { rowsMax: 2 })),
    ]

    assert.deepEqual(more, [true, false, false])
    assert.equal((await rows()).length, 1)
  })
})

describe('a delivery that fails', () => {
  test('the row stays pending, with its error, and comes back after a wait that doubles up to its limit', async (t) => {
    const { write, rows, comeDue, dispatch } = await setupOutbox(t)
    await write(1)
    const retry = { baseMs: 100_000, maxMs: 800_000 } // so long that a pause of the machine hardly shortens them
    const waits: number[] = []

    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await comeDue()
      await dispatch(deliveryOf(allFail, { retry }))
      waits.push((await rows())[0]?.due_in_ms ?? 0)
      assert.equal(await dispatch(deliveryOf(() => assert.fail('too early'))), false)
    }

    const [row] = await rows()
    assert.deepEqual([row?.status, row?.attempts, row?.last_error], ['pending', 5, 'refused'])
    for (const [index, ms] of [100_000, 200_000, 400_000, 800_000, 800_000].entries()) {
      const wait = waits[index] ?? 0
      assert(wait > ms * 0.85 - 20_000 && wait <= ms * 1.15, `wait ${index} was ${wait}`)
    }
  })

  test('after the last attempt the row is dead, kept with its error, and left alone', async (t) => {
    const { write, rows, comeDue, dispatch } = await setupOutbox(t)
    await write(1)
    const delivery = deliveryOf(allFail, { attemptsMax: 2 })

    const statuses: (string | undefined)[] = []
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await comeDue()
      await dispatch(delivery)
      statuses.push((await rows())[0]?.status)
    }
    await comeDue()
    await dispatch(deliveryOf(() => assert.fail('delivered after death')))

    assert.deepEqual(statuses, ['pending', 'dead'])
    assert.equal((await rows())[0]?.last_error, 'refused')
  })

  test('a row that is finally refused is dead at once, and a wait that the other side asks for is respected', async (t) => {
    const { write, rows, dispatch } = await setupOutbox(t)
    await write(2)

    await dispatch(
      deliveryOf((batch) =>
        batch.map((row) => ({
          ok: false,
          error: 'no',
          ...(row.outboxId === 1 ? { final: true } : { retryMs: 90_000 }),
        })),
      ),
    )

    const [first, second] = await rows()
    assert.equal(first?.status, 'dead')
    assert.equal(second?.status, 'pending')
    assert((second?.due_in_ms ?? 0) > 80_000)
  })

  test('each row of a batch has its own fate', async (t) => {
    const { write, rows, dispatch } = await setupOutbox(t)
    await write(3)

    await dispatch(
      deliveryOf((batch) => batch.map((row) => (row.outboxId === 2 ? { ok: false, error: 'no' } : { ok: true }))),
    )

    assert.deepEqual(
      (await rows()).map((row) => [row.id, row.status]),
      [[2, 'pending']],
    )
  })

  test('one that throws, or forgets to answer, has failed', async (t) => {
    const { write, rows, comeDue, dispatch } = await setupOutbox(t)
    await write(1)

    await dispatch(
      deliveryOf(() => {
        throw new Error('no route')
      }),
    )
    const thrown = (await rows())[0]?.last_error
    await comeDue()
    await dispatch(deliveryOf(() => []))
    const forgotten = (await rows())[0]?.last_error

    assert.deepEqual([thrown, forgotten], ['no route', 'No answer from the delivery.'])
  })

  test('an error text that a database cannot hold does not keep its batch from being settled', async (t) => {
    const { write, rows, dispatch } = await setupOutbox(t)
    await write(2)

    await dispatch(
      deliveryOf(
        (batch) =>
          batch.map((row) => (row.outboxId === 1 ? { ok: false, error: `a\0${'x'.repeat(997)}😀` } : { ok: true })),
        { keeps: true },
      ),
    )

    const [first, second] = await rows()
    assert.equal(first?.last_error, `a${'x'.repeat(997)}\ufffd`)
    assert.equal(second?.status, 'delivered')
  })
})

describe('two dispatchers', () => {
  test('while one delivers a row, the other does not get it; each row is delivered once', async (t) => {
    const { write, rows, at, dispatch, database } = await setupOutbox(t)
    const other = openDatabase(at, () => {})
    atEnd(t, () => other.close())
    await write(40)
    const seen: number[] = []
    const delivery = deliveryOf(
      async (batch) => {
        seen.push(...batch.map((row) => row.outboxId))
        if (seen.length < 40) await dispatch(delivery, seen.length % 2 === 0 ? other : database) // while this one holds its rows
        return allOk(batch)
      },
      { rowsMax: 7 },
    )

    await Promise.all([dispatch(delivery), dispatch(delivery, other)])

    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: 40 }, (_, n) => n + 1),
    )
    assert.deepEqual(await rows(), [])
  })

  test('a row that another is claiming is passed by, not waited for', async (t) => {
    const { write, dispatch, database } = await setupOutbox(t)
    await write(2)
    const seen: number[] = []

    await database.transaction(async (tx) => {
      await tx.query('select from outbox_events where outbox_id = 1 for update')
      await dispatch(
        deliveryOf((batch) => {
          seen.push(...batch.map((row) => row.outboxId))
          return allOk(batch)
        }),
      )
    })

    assert.deepEqual(seen, [2])
  })

  test('a dispatcher that died while delivering leaves its rows to the next, once its claim has run out', async (t) => {
    const { write, rows, comeDue, dispatch, metrics, database } = await setupOutbox(t)
    await write(1)
    const { asyncCommit } = database
    const dying = { ...database, asyncCommit: { ...asyncCommit, query: diesAfterTheClaim(asyncCommit.query) } }
    await assert.rejects(dispatch(deliveryOf(allOk), dying), /killed/)
    const [claimed] = await rows()
    const early = await dispatch(deliveryOf(() => assert.fail('still claimed')))
    await comeDue()
    const attempts: number[] = []

    await dispatch(
      deliveryOf((batch) => {
        attempts.push(...batch.map((row) => row.attempts))
        return allOk(batch)
      }),
    )

    assert((claimed?.due_in_ms ?? 0) > 50_000)
    assert.equal(early, false)
    assert.deepEqual(attempts, [2])
    assert.deepEqual(await rows(), [])
    assert(metrics.dispatched)
  })
})

describe('a dispatcher that lost its claim while it delivered', () => {
  /** The first delivery takes so long that another dispatcher claims the row; that one is told to fail. */
  const overtaken = async (t: TestContext, slow: Delivered, keeps: boolean) => {
    const { write, rows, comeDue, dispatch } = await setupOutbox(t)
    await write(1)
    const second = deliveryOf(allFail, { keeps })
    const first = deliveryOf(
      async () => {
        await comeDue()
        await dispatch(second)
        return [slow]
      },
      { keeps },
    )
    await dispatch(first)
    return rows()
  }

  for (const keeps of [true, false]) {
    test(`does not settle the row as delivered (${keeps ? 'marked' : 'deleted'})`, async (t) => {
      const [row] = await overtaken(t, { ok: true, entryId: '1-0' }, keeps)

      assert.deepEqual([row?.status, row?.attempts, row?.last_error], ['pending', 2, 'refused'])
      assert.deepEqual([row?.dispatched, row?.stream_entry_id], [false, null])
    })
  }

  test('does not declare the row dead', async (t) => {
    const [row] = await overtaken(t, { ok: false, error: 'too late', final: true }, true)

    assert.deepEqual([row?.status, row?.attempts, row?.last_error], ['pending', 2, 'refused'])
  })

  test('does not settle a row that was replayed meanwhile, though its attempts are counted from one again', async (t) => {
    const { database, write, rows, comeDue, dispatch } = await setupOutbox(t)
    const outbox = openOutbox(database, () => {})
    await write(1)
    const counted: number[] = []
    const giveUp = deliveryOf((batch) => batch.map(() => ({ ok: false, error: 'no', final: true })), { keeps: true })
    const slow = deliveryOf(
      async () => {
        await comeDue()
        await dispatch(giveUp)
        await outbox.replay(['test'])
        await dispatch(
          deliveryOf((batch) => {
            counted.push(...batch.map((row) => row.attempts))
            return allFail(batch)
          }),
        )
        return [{ ok: true }]
      },
      { keeps: true },
    )

    await dispatch(slow)

    assert.deepEqual(counted, [1])
    assert.equal((await rows())[0]?.status, 'pending')
  })
})

type Query = Awaited<ReturnType<typeof setupOutbox>>['database']['query']

/** The first statement goes through, the next finds the process gone. */
function diesAfterTheClaim(query: Query): Query {
  let alive = true
  return (sql, params) => {
    if (!alive) return Promise.reject(new Error('killed'))
    alive = false
    return query(sql, params)
  }
}

test('a dispatcher that is woken looks at once', async (t) => {
  const { database, metrics, write } = await setupOutbox(t)
  const delivered = new EventEmitter()
  const size = once(delivered, 'batch')
  const delivery = deliveryOf((batch) => {
    delivered.emit('batch', batch.length)
    return allOk(batch)
  })
  const dispatcher = openDispatcher(database, [delivery], metrics)
  const stop = new AbortController()
  const running = dispatcher.loops.map((loop) =>
    runLoop({ ...loop, everyMs: 3_600_000 }, stop.signal, (error) => assert.fail(String(error))),
  )
  await write(1)

  dispatcher.wake(null)

  assert.deepEqual(await size, [1])
  stop.abort()
  await Promise.all(running)
})

test('what waits and what was tried is counted', async (t) => {
  const { database, write, dispatch, metrics, pending } = await setupOutbox(t)
  await write(3)

  await dispatch(
    deliveryOf((batch) => batch.map((row) => (row.outboxId === 1 ? { ok: false, error: 'no' } : { ok: true }))),
  )

  const tried = await metrics.dispatched.get()
  assert.equal(await pending(), '1')
  await database.query(`insert into outbox_events (topic, payload) values ('feed_batch', '["a", "b", "c"]')`)
  assert.equal(await pending(), '4', 'a row that announces three jobs is three deliveries')
  assert.deepEqual(
    tried.values.map(({ labels, value }) => [labels.status, value]),
    [
      ['failed', 1],
      ['delivered', 2],
    ],
  )
})

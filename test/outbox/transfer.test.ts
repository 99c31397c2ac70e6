import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database, Tx } from '../../src/core/db/database.ts'
import { runLoop } from '../../src/core/loop.ts'
import type { Transfer } from '../../src/core/outbox/delivery.ts'
import { openDispatcher, transferOnce } from '../../src/core/outbox/dispatcher.ts'
import { takeRows } from '../../src/core/outbox/take-rows.ts'
import { until } from '../support/until.ts'
import { allOk, deliveryOf, setupOutbox } from './setup.ts'

const MOVE = `insert into outbox_events (topic, payload, status) select 'moved', to_json(n), 'delivered' from unnest($1::integer[]) as n`
const LEFT = `select topic, count(*)::integer as rows from outbox_events group by topic order by topic`
const ROWS_MAX = 100
const FOR_EVER_MS = 1_000_000

const moving = (database: Database, move = (tx: Tx, taken: unknown[]) => tx.query(MOVE, [taken])) => ({
  topic: 'test',
  transfer: () =>
    database.transaction(async (tx) => {
      const taken = await takeRows(tx, 'test', ROWS_MAX)
      await move(tx, taken)
      return { rows: taken.length, more: taken.length === ROWS_MAX }
    }),
})

describe('a transfer that takes its rows', () => {
  test('moves each row once, also where two run at once', async (t) => {
    const { database, metrics, write } = await setupOutbox(t)
    await write(250) // two full batches, however the two share the rows
    const transfer = moving(database)

    const more = await Promise.all([transferOnce(transfer, metrics), transferOnce(transfer, metrics)])
    const last = await transferOnce(transfer, metrics)

    assert.deepEqual([...more, last], [true, true, false])
    assert.deepEqual(await database.query(LEFT), [{ topic: 'moved', rows: 250 }])
  })

  test('leaves everything as it was if it fails', async (t) => {
    const { database, metrics, write } = await setupOutbox(t)
    await write(2)
    const failing = moving(database, async (tx, taken) => {
      await tx.query(MOVE, [taken])
      throw new Error('lost')
    })

    await assert.rejects(transferOnce(failing, metrics), /lost/)

    assert.deepEqual(await database.query(LEFT), [{ topic: 'test', rows: 2 }])
  })
})

describe('a transfer for which nobody waits', () => {
  test('after a batch that was not full it waits for more rows; after a full one it goes on at once', async (t) => {
    const { database, metrics, write, rows } = await setupOutbox(t)
    const batches: Record<'test' | 'other', number[]> = { test: [], other: [] }
    const gathering: Transfer = {
      topic: 'test',
      gatherMs: FOR_EVER_MS,
      async transfer() {
        const { length } = await database.transaction((tx) => takeRows(tx, 'test', 2))
        if (length > 0) batches.test.push(length)
        return { rows: length, more: length === 2 }
      },
    }
    const other = deliveryOf(
      (batch) => {
        batches.other.push(batch.length)
        return allOk(batch)
      },
      { topic: 'other' },
    )
    const { wake, loops } = openDispatcher(database, [gathering, other], metrics)
    const stopping = new AbortController()
    t.after(() => stopping.abort())
    await write(3)
    const running = loops.map((loop) => runLoop(loop, stopping.signal, assert.ifError))
    // The rows are gone a moment before the transfer knows of its commit.
    await until('three are moved', async () => (await rows()).length === 0 && batches.test.length === 2)

    await write(2)
    await write(1, 'other')
    wake(null)
    await until('another topic is delivered', () => batches.other.length === 1)
    const before = [...batches.test]
    stopping.abort()
    await Promise.all(running) // a stop does not wait for the gathering

    assert.deepEqual(before, [2, 1])
    assert.equal((await rows()).length, 2)
  })
})

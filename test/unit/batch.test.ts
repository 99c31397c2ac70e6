import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { batched } from '../../src/core/db/batch.ts'
import { Overloaded } from '../../src/core/values/outcome.ts'
import { openDatabase } from '../../src/core/db/database.ts'
import { testDatabase } from '../support/database.ts'
import { setupLedger } from '../support/ledger.ts'

/** A statement that ends when the test says so. */
function gated() {
  const batches: string[][] = []
  const waiting: (() => void)[] = []
  const run = (requests: string[]) => {
    batches.push(requests)
    return new Promise<string[]>((resolve) => {
      waiting.push(() => resolve(requests.map((request) => `${request}!`)))
    })
  }
  const endOldest = async () => {
    waiting.shift()?.()
    await tick()
  }
  return { run, batches, endOldest }
}

/** Long enough for everything that is scheduled to have begun. */
const tick = async () => {
  for (let n = 0; n < 3; n += 1) await new Promise((resolve) => setImmediate(resolve))
}

const sizes = (batches: readonly unknown[][]) => batches.map((batch) => batch.length)

describe('batched calls', () => {
  test('calls made together share a statement, and each gets its own answer', async () => {
    const batches: string[][] = []
    const call = batched({
      run: async (requests: string[]) => {
        batches.push(requests)
        return requests.map((request) => request.toUpperCase())
      },
    })

    const answers = await Promise.all(['a', 'b', 'c'].map(call))

    assert.deepEqual(answers, ['A', 'B', 'C'])
    assert.deepEqual(batches, [['a', 'b', 'c']])
  })

  test('calls that arrive while all statements are in flight go into the next statement together', async () => {
    const { run, batches, endOldest } = gated()
    const call = batched({ run, concurrency: 2 })
    const answers = [call('a')]
    await tick()
    answers.push(call('b'))
    await tick()
    answers.push(call('c'), call('d'), call('e'))
    await tick()
    const whileBusy = sizes(batches)

    await endOldest()
    const afterOne = sizes(batches)
    await endOldest()
    await endOldest()

    assert.deepEqual(whileBusy, [1, 1])
    assert.deepEqual(afterOne, [1, 1, 3])
    assert.deepEqual(await Promise.all(answers), ['a!', 'b!', 'c!', 'd!', 'e!'])
  })

  test('eager calls are sent in the middle of a turn if no statement runs, and later ones at its end', async () => {
    const { run, batches, endOldest } = gated()
    const call = batched({ run, concurrency: 2, eagerRows: 2 })

    const answers = Promise.all(['a', 'b', 'c', 'd', 'e'].map(call))
    const within = sizes(batches)
    await tick()
    const after = sizes(batches)
    await endOldest()
    await endOldest()

    assert.deepEqual(within, [2])
    assert.deepEqual(after, [2, 3])
    assert.deepEqual(await answers, ['a!', 'b!', 'c!', 'd!', 'e!'])
  })

  test('eager calls start no more statements than the limit', async () => {
    const { run, batches, endOldest } = gated()
    const call = batched({ run, concurrency: 1, eagerRows: 2 })

    const answers = Promise.all(['a', 'b', 'c', 'd', 'e'].map(call))
    await tick()
    const whileBusy = sizes(batches)
    await endOldest()
    await endOldest()

    assert.deepEqual(whileBusy, [2])
    assert.deepEqual(sizes(batches), [2, 3])
    assert.deepEqual(await answers, ['a!', 'b!', 'c!', 'd!', 'e!'])
  })

  test('a statement holds no more rows than the limit', async () => {
    const { run, batches, endOldest } = gated()
    const call = batched({ run, concurrency: 1, rowsMax: 2 })
    const answers = Promise.all(['a', 'b', 'c', 'd', 'e'].map(call))
    await tick()

    for (let n = 0; n < 3; n += 1) await endOldest()

    assert.deepEqual(sizes(batches), [2, 2, 1])
    assert.deepEqual(await answers, ['a!', 'b!', 'c!', 'd!', 'e!'])
  })

  test('a large call has a statement of its own, and small ones share theirs up to a megabyte', async () => {
    const bytes: Record<string, number> = { large: 5_000_000, half: 600_000 }
    const { run, batches, endOldest } = gated()
    const call = batched({ run, concurrency: 1, sizeOf: (request) => bytes[request] ?? 10 })
    const answers = Promise.all(['a', 'large', 'b', 'half', 'half', 'c'].map(call))
    await tick()

    for (let n = 0; n < 4; n += 1) await endOldest()

    assert.deepEqual(batches, [['a'], ['large'], ['b', 'half'], ['half', 'c']])
    assert.equal((await answers).length, 6)
  })

  test('the same key is never twice in a statement, nor in two at once, and keeps its order', async () => {
    const { run, batches, endOldest } = gated()
    const call = batched({ run, keyOf: (request) => request.charAt(0), concurrency: 2 })
    const answers = Promise.all(['a1', 'a2', 'b1', 'a3', 'c1'].map(call))
    await tick()
    const first = structuredClone(batches)

    for (let n = 0; n < 3; n += 1) await endOldest()

    assert.deepEqual(first, [['a1', 'b1', 'c1']])
    assert.deepEqual(batches, [['a1', 'b1', 'c1'], ['a2'], ['a3']])
    assert.deepEqual(await answers, ['a1!', 'a2!', 'b1!', 'a3!', 'c1!'])
  })

  test('a call whose key is in flight does not hold up those behind it', async () => {
    const { run, batches, endOldest } = gated()
    const call = batched({ run, keyOf: (request) => request.charAt(0), concurrency: 2 })
    const answers = [call('a1')]
    await tick()

    answers.push(call('a2'), call('b1'))
    await tick()

    assert.deepEqual(batches, [['a1'], ['b1']])
    for (let n = 0; n < 3; n += 1) await endOldest()
    assert.deepEqual(await Promise.all(answers), ['a1!', 'a2!', 'b1!'])
  })

  test('calls beyond the limit of waiting ones are refused at once, and the others are served', async () => {
    const { run, endOldest } = gated()
    const call = batched({ run, concurrency: 1, waitingMax: 2 })
    const served = [call('a')]
    await tick()
    served.push(call('b'), call('c'))

    await assert.rejects(call('d'), Overloaded)

    await endOldest()
    served.push(call('e'))
    for (let n = 0; n < 2; n += 1) await endOldest()
    assert.deepEqual(await Promise.all(served), ['a!', 'b!', 'c!', 'e!'])
  })

  test('a call for which the statement has no answer is an error, and its neighbours are not', async () => {
    const call = batched({ run: async (requests: string[]) => requests.slice(0, 1) })

    const answers = await Promise.allSettled([call('a'), call('b')])

    assert.deepEqual(
      answers.map((answer) => answer.status),
      ['fulfilled', 'rejected'],
    )
  })

  test('an error that is not a data error rejects the whole batch, and the next call works again', async () => {
    let broken = true
    const call = batched({
      run: async (requests: string[]) => {
        if (broken) throw new Error('connection lost')
        return requests
      },
      keyOf: (request) => request,
    })

    const answers = await Promise.allSettled([call('a'), call('b')])
    broken = false

    assert.deepEqual(
      answers.map((answer) => answer.status),
      ['rejected', 'rejected'],
    )
    assert.equal(await call('a'), 'a')
  })
})

describe('one bad row in a statement', () => {
  test('it fails alone: the halves without it succeed', async (t) => {
    const { database } = await testDatabase(t)
    const statements: number[] = []
    const call = batched({
      run: (values: string[]) => {
        statements.push(values.length)
        return database.query<{ n: number }>(
          'select v::integer as n from unnest($1::text[]) with ordinality as u (v)',
          [values],
        )
      },
    })

    const answers = await Promise.allSettled(['1', '2', '99999999999', '4', '5', '6', '7', '8'].map(call))

    assert.deepEqual(
      answers.map((answer) => (answer.status === 'fulfilled' ? answer.value.n : 'error')),
      [1, 2, 'error', 4, 5, 6, 7, 8],
    )
    assert.deepEqual(statements, [8, 4, 2, 2, 1, 1, 4])
  })

  test('a submit that PostgreSQL cannot hold is an error, and those beside it are on disk', async (t) => {
    const { ledger, database } = await setupLedger(t)
    const payloads = [1, 'nul: \0', 3, 'half: \ud83d', 5]

    const answers = await Promise.allSettled(payloads.map((payload) => ledger.submit({ kind: 'echo', payload })))

    assert.deepEqual(
      answers.map((answer) => answer.status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
    )
    const stored = await database.query('select payload from jobs order by payload::text')
    assert.deepEqual(
      stored.map((row) => row['payload']),
      [1, 3, 5],
    )
  })

  test('a broken effect, a number out of range and an invalid id leave their neighbours alone', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const held = await Promise.all(Array.from({ length: 4 }, async () => acquire(await submit())))

    const answers = await Promise.allSettled([
      ...held.slice(0, 2).map((job) => ledger.finalize({ ...job, result: 1 })),
      ledger.finalize({ jobId: 'none', attemptId: 1, owner: 'w1', result: 1 }),
      ledger.finalize({ jobId: held[0]?.jobId ?? '', attemptId: 2 ** 40, owner: 'w1', result: 1 }),
      ...held.slice(2).map((job) => ledger.finalize({ ...job, result: 1, effects: [{ sql: 'select 1/0', row: {} }] })),
    ])

    assert.deepEqual(
      answers.map((answer) => answer.status),
      ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'rejected', 'rejected'],
    )
    assert.equal((await ledger.get(held[0]?.jobId ?? ''))?.state, 'done')
    assert.equal((await ledger.get(held[2]?.jobId ?? ''))?.state, 'processing')
  })
})

test('when its connections are cut, the calls in flight fail and the next ones work', async (t) => {
  const { database, at } = await testDatabase(t)
  const own = openDatabase(at, () => {})
  t.after(() => own.close())
  const call = batched({
    concurrency: 1,
    run: async (seconds: number[]) => {
      await own.query('select pg_sleep($1)', [Math.max(...seconds)])
      return seconds
    },
  })
  const inFlight = Promise.allSettled([call(60), call(60)])
  const cut = `select pg_terminate_backend(pid) as done from pg_stat_activity
                where datname = current_database() and wait_event = 'PgSleep'`

  while ((await database.query(cut)).length === 0);
  const answers = await inFlight

  assert.deepEqual(
    answers.map((answer) => answer.status),
    ['rejected', 'rejected'],
  )
  assert.equal(await call(0), 0)
})

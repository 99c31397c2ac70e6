import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { openSettling } from '../../src/doors/pool/quorum/settling.ts'
import { REQUEST, setupPool, type SimulatedWorker } from './pool-parts.ts'

const OUTPUT = '{"answer":1}'
const COUNTS = `select worker_id::integer, agreed, disagreed from pool_workers order by worker_id`
const QUORUM = `select touches, settled from pool_quorums`

async function setup(t: TestContext) {
  const parts = await setupPool(t, { random: () => 0.5 })
  const { pool, worker, poll, submit } = parts
  assert((await pool.submitJobs([{ ...REQUEST, replicas: 3, quorum: 2 }])).ok)
  const workers = [await worker(1), await worker(2), await worker(3)]
  const vote = async (by: SimulatedWorker | undefined, output = OUTPUT) => {
    assert(by !== undefined)
    const assignment = await poll(by)
    assert(assignment !== null)
    return () => submit(by, assignment, output)
  }
  return { ...parts, workers, vote, loop: () => pool.quorums.loop.runOnce(new AbortController().signal) }
}

describe('settling a replicated job', () => {
  test('the first of two votes leaves nothing to settle, the second decides', async (t) => {
    const { database, workers, vote } = await setup(t)
    const [first, second] = [await vote(workers[0]), await vote(workers[1])]

    await first()
    assert.deepEqual(await database.query(QUORUM), [{ touches: 2, settled: 2 }])
    await second()

    assert.deepEqual(await database.query(`select state from jobs where kind = 'pool_quorum'`), [{ state: 'done' }])
    assert.deepEqual(await database.query(QUORUM), [{ touches: 4, settled: 4 }])
  })

  test('votes that come at the same moment leave nothing undecided', async (t) => {
    const { database, workers, vote } = await setup(t)
    const votes = [await vote(workers[0]), await vote(workers[1]), await vote(workers[2])]

    await Promise.all(votes.map((cast) => cast()))

    assert.deepEqual(await database.query(`select state from jobs where kind = 'pool_quorum'`), [{ state: 'done' }])
    assert.deepEqual(await database.query(`select from pool_quorums where touches > settled`), [])
  })

  test('verdicts that a process left uncounted when it died are counted once', async (t) => {
    const { database, workers, vote, loop } = await setup(t)
    for (const cast of [await vote(workers[0]), await vote(workers[1])]) await cast()
    // As the end commits it, before it is marked as settled.
    await database.query(`update pool_quorums set settled = -1`)
    await database.query(`update pool_workers set agreed = 0`)

    await Promise.all([loop(), loop()])
    await loop()

    const agreed = (await database.query<{ agreed: number }>(COUNTS)).map((row) => row.agreed)
    assert.deepEqual(agreed, [1, 1, 0])
  })

  test('a vote that comes between the end and the counting is counted with the others', async (t) => {
    const { database, workers, vote } = await setup(t)
    const votes = [await vote(workers[0]), await vote(workers[1]), await vote(workers[2], '{"answer":2}')]
    await votes[0]?.()
    await Promise.all([votes[1]?.(), votes[2]?.()])

    const isLate = (await database.query(`select from pool_results where worker_id = 3`)).length > 0
    const rows = await database.query<{ agreed: number; disagreed: number }>(COUNTS)
    assert.deepEqual(
      rows.map(({ agreed, disagreed }) => [agreed, disagreed]),
      [
        [1, 0],
        [1, 0],
        [0, isLate ? 1 : 0],
      ],
    )
  })
})

describe('runs of one settling', () => {
  test('those who come while one runs share the next', async () => {
    let runs = 0
    let release = () => {}
    const first = new Promise<void>((resolve) => (release = resolve))
    const settling = openSettling(async () => {
      runs += 1
      if (runs === 1) await first
    })

    const all = [settling.run('q'), settling.run('q'), settling.run('q'), settling.run('other')]
    release()
    await Promise.all(all)

    assert.equal(runs, 3)
  })

  test('a failed run fails its own callers, and the next one runs', async () => {
    let runs = 0
    const settling = openSettling(async () => {
      runs += 1
      if (runs === 1) throw new Error('lost')
    })

    const [first, second] = await Promise.allSettled([settling.run('q'), settling.run('q')])
    await settling.close()

    assert.deepEqual([first?.status, second?.status, runs], ['rejected', 'fulfilled', 2])
  })

  test('close waits for a run that is about to begin', async () => {
    let release = () => {}
    const first = new Promise<void>((resolve) => (release = resolve))
    let begun = 0
    let ended = 0
    const second = async () => {
      await Promise.resolve()
      ended += 1
    }
    const settling = openSettling(() => ((begun += 1) === 1 ? first : second()))
    const all = [settling.run('q'), settling.run('q')]

    // Called when the first run is over and the second has not begun.
    const closed = first.then(async () => {
      assert.equal(begun, 1)
      await settling.close()
      return ended
    })
    release()

    assert.equal(await closed, 1)
    await Promise.all(all)
  })
})

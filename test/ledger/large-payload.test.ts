import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pool } from '../../src/core/db/database.ts'
import { prepare, submit } from '../../src/core/ledger/submit/submit.ts'
import { newJobId } from '../../src/core/random.ts'
import { setupLedger } from '../support/ledger.ts'
import { countTurns } from '../support/turns.ts'
import { note } from './dump.ts'

test('a large payload is written before the transaction begins, not while it holds its locks', async (t) => {
  const { database } = await setupLedger(t)
  let turnsWithin = Infinity
  const pool: Pool = {
    ...database.hot,
    transaction: (work) =>
      database.hot.transaction(async (tx) => {
        const turns = countTurns()
        const answer = await work(tx)
        turnsWithin = turns.count()
        turns.stop()
        return answer
      }),
  }
  const payload = { text: 'x'.repeat(1_000_000), small: [1, null] }
  const jobs = [payload, { n: 1 }].map((one, index) => {
    const jobId = newJobId()
    return prepare(
      { jobId, kind: 'k', payload: one, payloadBytes: index === 0 ? 1_000_000 : 10, effects: [note(jobId)] },
      5,
    )
  })

  const answers = await submit(pool, jobs, { ageingSec: 60, announceByOutbox: false })

  assert(answers.every(({ ok }) => ok))
  assert.equal(turnsWithin, 0)
  const stored = await database.query<{ payload: unknown }>('select payload from jobs order by length(payload::text)')
  assert.deepEqual(
    stored.map((row) => row.payload),
    [{ n: 1 }, payload],
  )
})

test('many payloads that are large together are written in many turns', async (t) => {
  const { database } = await setupLedger(t)
  const jobs = Array.from({ length: 20 }, () =>
    prepare({ kind: 'k', payload: 'x'.repeat(200_000), payloadBytes: 200_000 }, 5),
  )
  const inserted: number[] = []
  const turns = countTurns()
  const pool: Pool = {
    ...database.hot,
    query: (sql, params) => {
      inserted.push(turns.count())
      return database.hot.query(sql, params)
    },
  }

  await submit(pool, jobs, { ageingSec: 60, announceByOutbox: false })
  turns.stop()

  assert.equal(inserted.length, 1)
  assert((inserted[0] ?? 0) >= 40, `${inserted[0]} turns before the insert`)
  const [stored] = await database.query(
    'select count(*)::integer as jobs, min(length(payload::text)) as chars from jobs',
  )
  assert.deepEqual(stored, { jobs: 20, chars: 200_002 })
})

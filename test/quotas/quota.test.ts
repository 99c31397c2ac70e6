import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openQuota, type QuotaAnswer } from '../../src/core/quotas/quota.ts'
import { until } from '../support/until.ts'

const ANN = 1
const RECOUNT_AFTER_MS = 250

/** A table of one account's rows, and how often it was counted. */
function setup(max: number, rows = 0) {
  const table = { rows, counts: 0 }
  const quota = openQuota({
    name: 'jobs_waiting',
    max,
    count: async (accountIds) => {
      table.counts += 1
      return new Map(accountIds.map((id) => [id, table.rows]))
    },
  })
  const insert = async () => {
    const answer = await quota.take(ANN)
    if (answer.ok) table.rows += 1
    return answer
  }
  return { table, quota, insert }
}

const accepted = (answers: readonly QuotaAnswer[]) => answers.filter(({ ok }) => ok).length

describe('a quota', () => {
  test('the last that fits is taken, and the next is refused with name and limit', async () => {
    const { insert } = setup(3, 2)

    assert.deepEqual(await insert(), { ok: true })
    assert.deepEqual(await insert(), { ok: false, code: 'quota_exceeded', name: 'jobs_waiting', max: 3 })
  })

  test('of many at once exactly as many are taken as fit, though none is in the table yet', async () => {
    const { quota } = setup(50, 10)

    const answers = await Promise.all(Array.from({ length: 200 }, () => quota.take(ANN)))

    assert.equal(accepted(answers), 40)
  })

  test('a thousand of ten thousand cost one count', async () => {
    const { table, insert } = setup(10_000)

    for (let n = 0; n < 1000; n += 1) await insert()

    assert.equal(table.counts, 1)
    await insert()
    assert.equal(table.counts, 2)
  })

  test('what another process took is seen after a tenth of the quota', async () => {
    const { table, insert } = setup(100)
    await insert()
    table.rows += 95

    const answers: QuotaAnswer[] = []
    for (let n = 0; n < 20; n += 1) answers.push(await insert())

    assert(accepted(answers) <= 10, `${accepted(answers)} were taken`)
  })

  test('an account at its quota is counted again after a moment, not for every refusal', async () => {
    const { table, insert } = setup(5, 5)
    const began = performance.now()

    for (let n = 0; n < 100; n += 1) assert.equal((await insert()).ok, false)
    const { counts } = table
    const countsMax = 1 + Math.floor((performance.now() - began) / RECOUNT_AFTER_MS)
    table.rows = 0
    await until('it is counted again', async () => (await insert()).ok)

    assert(counts <= countsMax, `${counts} counts`)
    assert.equal(table.rows, 1)
  })

  test('a quota of 0 lets nothing in, and an amount counts in full', async () => {
    assert.equal((await setup(0).quota.take(ANN)).ok, false)
    const { quota } = setup(100)
    assert.equal((await quota.take(ANN, 101)).ok, false)
    assert.equal((await quota.take(ANN, 100)).ok, true)
    assert.equal((await quota.take(ANN, 1)).ok, false)
  })
})

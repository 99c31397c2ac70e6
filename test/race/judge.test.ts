// Two workers that each have a verdict for one submission, at the same moment and over connections of their own: one verdict is
// recorded, everywhere it can be read, and the other worker is told why not.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { openDatabase } from '../../src/core/db/database.ts'
import type { Ledger } from '../../src/core/ledger/ledger.ts'
import { finished } from '../../src/doors/judge/submissions/submission-store.ts'
import { account, ask, judged, putProblem, startServer, submit, TWICE } from '../contract/judge/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { deafBus, openTestLedger } from '../support/ledger.ts'

const ROUNDS = 25
const LEASE_MS = 60_000

/** A server without workers, and two ledgers that share nothing with it but the database. */
async function setup(t: TestContext) {
  const server = await startServer(t, { role: 'serve', env: { SUBMIT_RATE_LIMIT_MAX: '1000' } })
  await putProblem(server.url, 'twice')
  const openRival = (): Ledger => {
    const database = openDatabase(server.at, () => {})
    atEnd(t, () => database.close())
    return openTestLedger({ database, bus: deafBus })
  }
  const [one, other] = [openRival(), openRival()] as const
  const ann = await account(server.url, 'ann')
  const accepted = async (): Promise<string> => (await submit(server.url, ann, { code: TWICE.accepted })).body.job_id
  return { ...server, ann, one, other, accepted }
}

type Word = 'AC' | 'WA'

const handIn = async (ledger: Ledger, jobId: string, held: { attemptId: number; owner: string }, verdict: Word) => {
  const result = { verdict, time_ms: 1, mem_kb: 1, tests: [] }
  const answer = await ledger.finalize({ jobId, ...held, result, effects: [finished(jobId, result)] })
  return answer.ok ? 'ok' : answer.code
}

/** What everybody is told: the submission itself, and its row in the list. */
async function shown(base: string, who: Record<string, string>, jobId: string) {
  const { verdict, attempt_id: attempt } = await judged(base, who, jobId)
  const { body } = await ask(`${base}/submissions`, { headers: who })
  const line = body.submissions.find((one: { job_id: string }) => one.job_id === jobId)
  return { verdict, listed: line?.verdict, attempt }
}

describe('judge: two results for one submission at the same moment', () => {
  test('of one attempt: the first is recorded, the other is refused as already_finished', async (t) => {
    const { url, ann, one, other, accepted } = await setup(t)

    for (let round = 0; round < ROUNDS; round += 1) {
      const jobId = await accepted()
      const held = { attemptId: 1, owner: 'w1' }
      assert((await one.acquire({ jobId, owner: 'w1', leaseMs: LEASE_MS })).ok)

      const answers = await Promise.all([handIn(one, jobId, held, 'AC'), handIn(other, jobId, held, 'WA')])

      assert.deepEqual(answers.toSorted(), ['already_finished', 'ok'])
      const verdict = answers[0] === 'ok' ? 'AC' : 'WA'
      assert.deepEqual(await shown(url, ann, jobId), { verdict, listed: verdict, attempt: 1 })
    }
  })

  test('of two attempts: only the newer one’s can be recorded, and the older is refused as stale_attempt', async (t) => {
    const { url, ann, one, other, accepted } = await setup(t)

    for (let round = 0; round < ROUNDS; round += 1) {
      const jobId = await accepted()
      assert((await one.acquire({ jobId, owner: 'w1', leaseMs: 0 })).ok)
      assert((await other.acquire({ jobId, owner: 'w2', leaseMs: LEASE_MS })).ok)

      const answers = await Promise.all([
        handIn(one, jobId, { attemptId: 1, owner: 'w1' }, 'AC'),
        handIn(other, jobId, { attemptId: 2, owner: 'w2' }, 'WA'),
      ])

      assert.deepEqual(answers, ['stale_attempt', 'ok'])
      assert.deepEqual(await shown(url, ann, jobId), { verdict: 'WA', listed: 'WA', attempt: 2 })
    }
  })

  test('of two workers that both want an abandoned submission one gets it, and nobody else’s result counts', async (t) => {
    const { url, ann, one, other, accepted } = await setup(t)

    for (let round = 0; round < ROUNDS; round += 1) {
      const jobId = await accepted()
      assert((await one.acquire({ jobId, owner: 'dead', leaseMs: 0 })).ok)

      const taken = await Promise.all([
        one.acquire({ jobId, owner: 'w1', leaseMs: LEASE_MS }),
        other.acquire({ jobId, owner: 'w2', leaseMs: LEASE_MS }),
      ])
      const answers = await Promise.all([
        handIn(one, jobId, { attemptId: 2, owner: 'w1' }, 'AC'),
        handIn(other, jobId, { attemptId: 2, owner: 'w2' }, 'WA'),
      ])

      const [winner, loser] = taken[0].ok ? [0, 1] : [1, 0]
      assert.deepEqual([taken[winner]?.ok, taken[loser]?.ok], [true, false])
      assert.equal(answers[winner], 'ok')
      assert(['lease_lost_or_owner_mismatch', 'already_finished'].includes(answers[loser] ?? ''), answers[loser])
      const verdict = winner === 0 ? 'AC' : 'WA'
      assert.deepEqual(await shown(url, ann, jobId), { verdict, listed: verdict, attempt: 2 })
    }
  })
})

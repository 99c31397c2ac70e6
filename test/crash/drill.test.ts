// A fault drill. In every round jobs of all doors are submitted, parts are broken at random and mended; then all that was accepted must
// end once, within the bound that docs/how-it-works.md gives, counted from when all parts are back. A few rounds with a fixed seed here;
// `npm run test:slow -- drill` runs many with a random one.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../src/core/db/database.ts'
import { seeded } from '../support/seeded.ts'
import { until } from '../support/until.ts'
import { startLoad, type Load } from './drill/load.ts'
import { BOUND_SEC, MATCH_BOUND_SEC, startParts, type Fault, type Parts } from './drill/parts.ts'
import { verifyMatches } from './match-checks.ts'
import { FEEDS, type FeedName } from './rig.ts'

const LONG_ROUNDS = Number(process.env['REEVE_TEST_DRILL_ROUNDS'] ?? 0)
const ROUNDS = LONG_ROUNDS === 0 ? 2 : LONG_ROUNDS
const SEED = Number(process.env['REEVE_TEST_SEED'] ?? (LONG_ROUNDS === 0 ? 7 : randomInt(2 ** 31)))
const TIMEOUT = { timeout: 120_000 + ROUNDS * 60_000 }
// Beside many other tests a job may take its time; only a run by itself is held to the bound.
const SLACK_SEC = LONG_ROUNDS === 0 ? 30 : 0

const SUBMITS = 6
const FAULTS_MAX = 3
const BROKEN_MS_MAX = 4000

const TWICE = `
  select job_id from pool_results where is_final group by job_id having count(*) > 1
  union all
  select job_id from captcha_audit where action in ('solved', 'unsolvable', 'expired', 'cancelled')
   group by job_id having count(*) > 1`

const SELECT_JOBS = `
  select job_id, kind, state, submitted_at, started_at, finished_at from jobs where job_id = any($1::uuid[])`

const TAKEN_OVER = `
  select r.reason, count(*)::integer from match_results r join jobs j on j.job_id = r.match_id
   where j.attempt_id > 1 group by r.reason`

interface JobSeen {
  job_id: string
  kind: string
  state: string
  submitted_at: Date
  /** Of the last attempt. */
  started_at: Date | null
  finished_at: Date | null
}

interface Recovered {
  kind: string
  tookSec: number
  round: string
}

for (const feed of FEEDS) {
  describe(`a fault drill with ${feed} as the feed`, () => {
    test(`every accepted job ends once, in time (${ROUNDS} rounds, seed ${SEED})`, TIMEOUT, async (t) => {
      const parts = await startParts(t, feed)
      const load = await startLoad(t, parts, SUBMITS)
      const random = seeded(SEED)
      const recovered: Recovered[] = []
      const accepted: string[] = []

      for (let round = 1; round <= ROUNDS; round += 1) {
        const faults = pickFaults(parts, random)
        const name = `round ${round}: ${faults.map((fault) => fault.name).join(', ')}`
        const { jobIds, backAt } = await runRound(load, { faults, round, random })
        accepted.push(...jobIds)
        const late = await recoveries(load.database, jobIds, backAt)
        recovered.push(...late.map((one) => ({ ...one, round: name })))
        t.diagnostic(`${name}: ${late.length} jobs after it, longest ${longest(late).toFixed(1)} s`)
      }
      await load.stop()

      t.diagnostic(summaryOf(recovered))
      t.diagnostic(`matches taken over: ${JSON.stringify(await load.database.query(TAKEN_OVER))}`)
      assert.deepEqual(await load.database.query(TWICE), [])
      await verifyMatches(load.database)
      assert.equal(accepted.length, new Set(accepted).size)
      const tooLate = recovered.filter(({ kind, tookSec }) => tookSec > boundOf(kind, feed) + SLACK_SEC)
      assert.deepEqual(tooLate, [], 'later than documented after all parts were back')
    })
  })
}

const boundOf = (kind: string, feed: FeedName): number => (kind === 'match' ? MATCH_BOUND_SEC : BOUND_SEC[feed])

/** One to three parts, each broken in one way. */
function pickFaults({ faults }: Parts, random: () => number): Fault[] {
  const picked = new Map<string, Fault>()
  const count = 1 + Math.floor(random() * FAULTS_MAX)
  while (picked.size < count) {
    const fault = faults[Math.floor(random() * faults.length)] ?? assert.fail('no faults')
    if (!picked.has(fault.part)) picked.set(fault.part, fault)
  }
  return [...picked.values()]
}

/** Submits while the faults come and go. `backAt`: when the last of them was mended. */
async function runRound(
  load: Load,
  { faults, round, random }: { faults: readonly Fault[]; round: number; random: () => number },
): Promise<{ jobIds: string[]; backAt: number }> {
  const plan = faults.map((fault) => ({ fault, afterMs: random() * 1000, forMs: random() * BROKEN_MS_MAX }))
  const submitting = Array.from({ length: SUBMITS }, async (_, n) => {
    await sleep(n * 300)
    return load.submitOneEach(`r${round}n${n}`)
  })
  const playing = Array.from({ length: SUBMITS }, async (_, n) => {
    await sleep(n * 300)
    return load.play(`r${round}`, n)
  })
  const breaking = plan.map(async ({ fault, afterMs, forMs }) => {
    await sleep(afterMs)
    await fault.inflict()
    await sleep(forMs)
    return fault
  })
  // Servers first: a process that starts again needs them.
  const broken = await Promise.all(breaking)
  const servers = broken.filter(({ part }) => !part.includes('process'))
  await Promise.all(servers.map((fault) => fault.mend()))
  await Promise.all(broken.filter((fault) => !servers.includes(fault)).map((fault) => fault.mend()))
  const backAt = Date.now()
  const matches = new Set((await Promise.all(playing)).flat()) // each of two players names it
  return { jobIds: [...(await Promise.all(submitting)).flat(), ...matches], backAt }
}

/**
 * Waits for all of them, and answers how long those took that ended after all parts were back. A match takes as long as it is played:
 * it counts until it was resumed for the last time, or taken up to be closed as void.
 */
async function recoveries(database: Database, jobIds: readonly string[], backAt: number) {
  const look = () => database.query<JobSeen>(SELECT_JOBS, [jobIds])
  const unended = async () => (await look()).filter(({ state }) => state !== 'done')
  await until('every job is done', async () => (await unended()).length === 0, unended)
  const jobs = await look()
  assert.equal(jobs.length, jobIds.length, 'an accepted job is gone')
  return jobs.flatMap(({ kind, submitted_at, started_at, finished_at }) => {
    const recoveredAt = kind === 'match' ? started_at : finished_at
    assert(recoveredAt !== null)
    const tookMs = recoveredAt.getTime() - Math.max(backAt, submitted_at.getTime())
    return recoveredAt.getTime() < backAt ? [] : [{ kind, tookSec: tookMs / 1000 }]
  })
}

const longest = (all: readonly { tookSec: number }[]): number => Math.max(0, ...all.map(({ tookSec }) => tookSec))

function summaryOf(recovered: readonly Recovered[]): string {
  const sorted = recovered.map(({ tookSec }) => tookSec).toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2)
  return `${sorted.length} jobs recovered: p50 ${at(0.5)} s, p99 ${at(0.99)} s, max ${longest(recovered).toFixed(2)} s`
}

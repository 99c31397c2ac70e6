// A year of a deployment: every five days so many jobs are done, and retention deletes those of 30 days before. Rows have the times of
// the year that ends now; a day's retention is asked to keep what is younger than that day and 30 more. Each month a few jobs take their
// whole way through the ledger on what there is then.
import assert from 'node:assert/strict'
import type { Database } from '../../src/core/db/database.ts'
import { openPrune, type ReleaseOld } from '../../src/core/ledger/prune.ts'
import { deafBus, openTestLedger } from '../support/ledger.ts'

const DAYS = 365
const KEPT_DAYS = 30
/** Days between two runs of retention. */
export const STEP = 5

const ADD_DAY = `
  with added as (
    insert into jobs (job_id, kind, state, priority, rank, payload, result, attempt_id, lease_owner, submitted_at, started_at, finished_at)
    select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8'
             || substr(md5(random()::text), 1, 15))::uuid,
           'echo', 'done', 5, 0, '{"n": 1}', '{"n": 1}', 2, 'worker', at, at, at
      from (select clock_timestamp() - $1 * interval '1 day' + n * (interval '1 day' / $3) as at
              from generate_series(0, $2 - 1) as n) as times
    returning job_id, submitted_at
  )
  insert into attempts (job_id, attempt_id, owner, started_at, ended_at, outcome, error)
  select job_id, 1, 'worker', submitted_at, submitted_at, 'failed', 'once' from added`

const SIZES = `
  select (select count(*) from jobs)::integer as jobs, (select count(*) from attempts)::integer as attempts,
         pg_total_relation_size('jobs')::float8 / 1048576 as jobs_mb, pg_total_relation_size('attempts')::float8 / 1048576 as attempts_mb,
         pg_database_size(current_database())::float8 / 1048576 as database_mb`

export interface MonthOfYear {
  day: number
  jobs: number
  attempts: number
  jobs_mb: number
  attempts_mb: number
  database_mb: number
  /** The insert of the last day. */
  addMs: number
  /** Of the transaction that reads and deletes a page: the longest of the month. */
  pruneMsMax: number
  /** The median of each step of a job's way. */
  stepMs: Readonly<Record<Step, number>>
}

export const STEPS = ['submit', 'acquire next', 'renew', 'finalize', 'read'] as const
type Step = (typeof STEPS)[number]

const everything: ReleaseOld = async (_tx, jobIds) => jobIds

export async function simulateYear(database: Database, jobsPerDay: number, onMonth: (month: MonthOfYear) => void) {
  let pruneMsMax = 0
  for (let day = STEP; day <= DAYS; day += STEP) {
    const daysAgo = DAYS - day
    const begun = performance.now()
    await database.query(ADD_DAY, [daysAgo + STEP - 1, jobsPerDay * STEP, jobsPerDay])
    const addMs = performance.now() - begun
    const keptDays = daysAgo + KEPT_DAYS
    const prune = openPrune({
      pool: database,
      kept: { jobsDays: keptDays, attemptsDays: keptDays, resultsDays: 0 },
      releaseOf: () => everything,
      forgetOf: () => null,
      now: Date.now,
    })
    for (let more = true; more;) {
      const began = performance.now()
      more = (await prune()).more
      pruneMsMax = Math.max(pruneMsMax, performance.now() - began)
    }
    if (day % 30 !== 0) continue
    await database.query('vacuum analyze jobs')
    await database.query('vacuum analyze attempts')
    const [sizes] = await database.query<Omit<MonthOfYear, 'day' | 'addMs' | 'pruneMsMax' | 'stepMs'>>(SIZES)
    const stepMs = await measureSteps(database)
    if (sizes !== undefined) onMonth({ day, ...sizes, addMs, pruneMsMax, stepMs })
    pruneMsMax = 0
  }
}

const LOAD_JOBS = 50
const HELD = { owner: 'load', leaseMs: 60_000 }
const DELETE_LOAD = `delete from jobs where kind = 'load'`

/** One job after the other, so that each statement is of one job. They leave nothing behind. */
async function measureSteps(database: Database): Promise<MonthOfYear['stepMs']> {
  const ledger = openTestLedger({ database, bus: deafBus })
  const times = new Map<Step, number[]>()
  const timed = async <Answer>(step: Step, work: Promise<Answer>): Promise<Answer> => {
    const began = performance.now()
    const answer = await work
    times.set(step, [...(times.get(step) ?? []), performance.now() - began])
    return answer
  }
  for (let n = 0; n < LOAD_JOBS; n += 1) {
    await timed('submit', ledger.submit({ kind: 'load', payload: { n } }))
    const { jobs } = await timed('acquire next', ledger.acquireNextFrom(null, { kind: 'load', limit: 1, ...HELD }))
    const [job] = jobs
    assert(job !== undefined)
    await timed('renew', ledger.renew({ ...job, ...HELD }))
    const { ok } = await timed('finalize', ledger.finalize({ ...job, result: { n } }))
    assert(ok)
    await timed('read', ledger.get(job.jobId))
  }
  ledger.close()
  await database.query(DELETE_LOAD)
  const median = (step: Step) => times.get(step)?.toSorted((a, b) => a - b)[LOAD_JOBS / 2] ?? 0
  return {
    submit: median('submit'),
    'acquire next': median('acquire next'),
    renew: median('renew'),
    finalize: median('finalize'),
    read: median('read'),
  }
}

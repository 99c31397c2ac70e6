// A year of jobs in a minute: tables stay flat. `npm run test:slow -- year` does it with ten million.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../support/database.ts'
import { simulateYear, STEP, STEPS, type MonthOfYear } from './year.ts'

const DAYS = 365
const perDay = Math.ceil(Number(process.env['REEVE_TEST_YEAR_JOBS'] ?? 7300) / DAYS)

test('tables stay flat in a year of jobs, and a pass of retention takes no longer', async (t) => {
  const { database } = await testDatabase(t)
  const months: MonthOfYear[] = []

  await simulateYear(database, perDay, (month) => {
    months.push(month)
    const { day, jobs, jobs_mb: jobsMb, attempts_mb: attemptsMb, database_mb: allMb, addMs, pruneMsMax, stepMs } = month
    const sizes = `${jobs} jobs, ${jobsMb.toFixed(1)} MB and ${attemptsMb.toFixed(1)} MB of attempts, ${allMb.toFixed()} MB in all`
    const steps = STEPS.map((step) => `${step} ${stepMs[step].toFixed(2)}`).join(', ')
    t.diagnostic(
      `day ${day}: ${sizes}; last day's insert ${addMs.toFixed()} ms, longest pass ${pruneMsMax.toFixed()} ms; median ms: ${steps}`,
    )
  })

  assert.equal(months.length, 12)
  for (const { day, jobs, attempts } of months) {
    assert(jobs >= 30 * perDay && jobs <= (31 + STEP) * perDay, `${jobs} jobs on day ${day}`)
    assert.equal(attempts, jobs)
  }
  const [, second, ...later] = months
  assert(
    later.every(({ jobs_mb: mb }) => mb <= 1.5 * (second?.jobs_mb ?? 0)),
    JSON.stringify(months),
  )
})

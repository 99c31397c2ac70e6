// Whether a job costs the same after 10,000 and after 1,000,000 finished ones: the rate one by one, end to end, in a
// table that holds them, vacuumed and analyzed as autovacuum would have left it.

import type { Cell } from '../cell.ts'
import type { Limits } from '../options.ts'
import { measureOneByOne } from './one-by-one.ts'

export async function measureAfter(cell: Cell, limits: Limits, finishedJobs: number): Promise<number> {
  const { producer, contestant } = cell
  if (producer.prefillFinished === undefined) throw new Error(`${contestant.title} has no prefillFinished`)
  await producer.prefillFinished(finishedJobs)
  await cell.settleDatabase()
  return (await measureOneByOne(cell, limits)).rate
}

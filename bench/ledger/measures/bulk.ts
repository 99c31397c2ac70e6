// Enqueue with the bulk call while one worker process consumes: jobs per second from the first call to the last
// recorded end.

import { nowUs } from '../../clock.ts'
import { enqueueInBulk, finished, spentPerJob, type Cell, type Spent } from '../cell.ts'
import type { Limits } from '../options.ts'

/** Jobs per second, and what each of them cost. */
export interface Measured {
  rate: number
  spent: Spent
}

const WARM_UP_JOBS = 2_000

export async function measureBulk(cell: Cell, { jobs }: Limits): Promise<Measured> {
  await cell.worker.start()
  await enqueueInBulk(cell, 0, WARM_UP_JOBS)
  await finished(cell, 0, WARM_UP_JOBS)

  const before = cell.spent()
  const startUs = nowUs()
  await enqueueInBulk(cell, 1, jobs)
  const { endUs } = await finished(cell, 1, jobs)
  return { rate: jobs / ((endUs - startUs) / 1e6), spent: spentPerJob(cell, before, jobs) }
}

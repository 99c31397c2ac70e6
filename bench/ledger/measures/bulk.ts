// Enqueue with the bulk call while one worker process consumes: jobs per second from the first call to the last
// recorded end.

import { nowUs } from '../../clock.ts'
import { enqueueInBulk, finished, type Cell } from '../cell.ts'
import type { Limits } from '../options.ts'

const WARM_UP_JOBS = 2_000

export async function measureBulk(cell: Cell, { jobs }: Limits): Promise<number> {
  await cell.worker.start()
  await enqueueInBulk(cell, 0, WARM_UP_JOBS)
  await finished(cell, 0, WARM_UP_JOBS)

  const startUs = nowUs()
  await enqueueInBulk(cell, 1, jobs)
  const { endUs } = await finished(cell, 1, jobs)
  return jobs / ((endUs - startUs) / 1e6)
}

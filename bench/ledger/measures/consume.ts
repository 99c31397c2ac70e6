// A queue is filled, then the worker starts: jobs per second from the start of the first handler to the last recorded
// end. Connecting and checking the schema, which happens once in a worker's life, comes before the first handler and is
// therefore nobody's cost. The table is vacuumed and analyzed first, as it would be if it had filled up over an hour.

import { enqueueInBulk, finished, type Cell } from '../cell.ts'
import type { Limits } from '../options.ts'

export async function measureConsume(cell: Cell, { jobs }: Limits): Promise<number> {
  await enqueueInBulk(cell, 0, jobs)
  await cell.settleDatabase()

  await cell.worker.start()
  const { firstUs, endUs } = await finished(cell, 0, jobs)
  return jobs / ((endUs - firstUs) / 1e6)
}

// Enqueue one by one, 50 at a time, each awaited until it is accepted, while one worker process consumes: jobs per
// second from the first enqueue to the last recorded end. Enqueueing ends after a number of jobs or of seconds, whichever
// comes first, because the contestants lie more than an order of magnitude apart: a fixed number would be over in a
// blink for the fast or take minutes for the slow.

import { nowUs } from '../../clock.ts'
import { finished, spentPerJob, type Cell } from '../cell.ts'
import type { Limits } from '../options.ts'
import type { Measured } from './bulk.ts'

const LANES = 50
const WARM_UP = { jobs: 1_000, seconds: 1 }

export async function measureOneByOne(cell: Cell, limits: Limits): Promise<Measured> {
  await cell.worker.start()
  await finished(cell, 0, await enqueue(cell, 0, WARM_UP))

  const before = cell.spent()
  const startUs = nowUs()
  const count = await enqueue(cell, 1, limits)
  const { endUs } = await finished(cell, 1, count)
  return { rate: count / ((endUs - startUs) / 1e6), spent: spentPerJob(cell, before, count) }
}

async function enqueue({ producer }: Cell, round: number, limits: { jobs: number; seconds: number }): Promise<number> {
  const deadlineUs = nowUs() + limits.seconds * 1e6
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < limits.jobs && nowUs() < deadlineUs) await producer.enqueue({ round, id: next++ })
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return next
}

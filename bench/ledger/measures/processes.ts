// Several worker processes on one database: jobs per second in bulk, from the first call to the last recorded end. No single worker
// handles all jobs, so the contestant's own records say when they are finished.

import { setTimeout as sleep } from 'node:timers/promises'
import { nowUs } from '../../clock.ts'
import { enqueueInBulk, type Cell } from '../cell.ts'
import type { Limits } from '../options.ts'

// V8 compiles the program in each process: 10,000 jobs for each of eight. With fewer processes it is the same number, so that the table is
// as large, and autovacuum does as much.
const WARM_UP_JOBS = 80_000
/** V8 discards compiled code at the first job of a new round: until then, the object in which the worker counts was always the same. */
const WARM_UP_ROUNDS = 2
/** As many times the jobs of other measures: each process has to have enough of them. */
const TIMES_JOBS = 4
const LOOK_EVERY_MS = 10
const FINISH_MS_MAX = 120_000

export async function measureProcesses(cell: Cell, limits: Limits, processes: number): Promise<number> {
  const jobs = TIMES_JOBS * limits.jobs
  await cell.worker.start()
  for (let count = 1; count < processes; count += 1) await (await cell.addWorker()).start()
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    await enqueueInBulk(cell, round, WARM_UP_JOBS)
    await settled(cell)
  }
  await cell.settleDatabase() // autovacuum would fall into some repetitions and not into others

  const startUs = nowUs()
  await enqueueInBulk(cell, WARM_UP_ROUNDS, jobs)
  await settled(cell)
  return jobs / ((nowUs() - startUs) / 1e6)
}

async function settled({ producer, contestant }: Cell): Promise<void> {
  const deadlineUs = nowUs() + FINISH_MS_MAX * 1_000
  while (!(await producer.settled())) {
    if (nowUs() > deadlineUs) throw new Error(`${contestant.title} has unfinished jobs after ${FINISH_MS_MAX} ms`)
    await sleep(LOOK_EVERY_MS)
  }
}

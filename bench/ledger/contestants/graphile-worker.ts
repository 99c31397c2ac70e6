// graphile-worker with the settings of its own performance test: local queue, completion in batches, concurrency 24.
// No threshold for the refetch delay: with threshold 100 and 100 ms, 80 idle starts did not end within two minutes.

import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import type { Contestant, Handle, Producer, Servers, Worker } from '../contestant.ts'
import { installedVersion } from './installed-version.ts'
import { openPool } from './pool.ts'

const TASK = 'noop'
const PRODUCER_CONNECTIONS = 10 // its default
const CONCURRENCY = 24
const LOCAL_QUEUE_SIZE = 500
const REFETCH_DELAY_MS = 10
const silent = new Logger(() => () => {})

// Looked at after the last handler only; the table is empty by then but for rows whose end is not yet recorded.
const SETTLED = 'select not exists (select from graphile_worker._private_jobs) as settled'

export const graphileWorker: Contestant = {
  name: 'graphile-worker',
  title: `graphile-worker ${installedVersion('graphile-worker')}`,
  side: 'peer',
  settings: `localQueue ${LOCAL_QUEUE_SIZE}, refetchDelay ${REFETCH_DELAY_MS} ms, concurrentJobs ${CONCURRENCY}, completeJobBatchDelay 0, addJobs of 5,000`,
  bulk: { size: 5_000, lanes: 1 },
  openProducer,
  startWorker,
}

async function openProducer({ postgres }: Servers): Promise<Producer> {
  const pgPool = openPool(postgres, PRODUCER_CONNECTIONS)
  const utils = await makeWorkerUtils({ pgPool, logger: silent })
  await utils.migrate()

  return {
    async enqueue(payload) {
      await utils.addJob(TASK, payload)
    },
    async enqueueMany(payloads) {
      await utils.addJobs(payloads.map((payload) => ({ identifier: TASK, payload })))
    },
    async settled() {
      const { rows } = await pgPool.query<{ settled: boolean }>(SETTLED)
      return rows[0]?.settled === true
    },
    async close() {
      await utils.release()
      await pgPool.end()
    },
  }
}

async function startWorker({ postgres }: Servers, handle: Handle): Promise<Worker> {
  const pgPool = openPool(postgres, CONCURRENCY + 1)
  const runner = await run({
    pgPool,
    logger: silent,
    noHandleSignals: true,
    parsedCronItems: [],
    taskList: { [TASK]: handle },
    preset: {
      worker: {
        concurrentJobs: CONCURRENCY,
        localQueue: { size: LOCAL_QUEUE_SIZE, refetchDelay: { durationMs: REFETCH_DELAY_MS } },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  })
  return {
    async stop() {
      await runner.stop()
      await pgPool.end()
    },
  }
}

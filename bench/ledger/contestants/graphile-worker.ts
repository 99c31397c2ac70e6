// graphile-worker as its page on performance sets it up: local queue, completion in batches, high concurrency.

import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import type { Contestant, Handle, Producer, Servers, Worker } from '../contestant.ts'
import { installedVersion } from './installed-version.ts'
import { openPool } from './pool.ts'

const TASK = 'noop'
const PRODUCER_CONNECTIONS = Number(process.env.GP ?? 10)
const CONCURRENCY = Number(process.env.GC ?? 24)
const LOCAL_QUEUE_SIZE = Number(process.env.GL ?? 500)
const REFETCH_DELAY_MS = Number(process.env.GR ?? 10)
const MAX_ATTEMPTS = 25
const silent = new Logger(() => () => {})

// Looked at after the last handler only; the table is empty by then but for rows whose end is not yet recorded.
const SETTLED = 'select not exists (select from graphile_worker._private_jobs) as settled'

export const graphileWorker: Contestant = {
  name: 'graphile-worker',
  title: `graphile-worker ${installedVersion('graphile-worker')}`,
  side: 'peer',
  settings: `localQueue ${LOCAL_QUEUE_SIZE}, refetchDelay ${REFETCH_DELAY_MS} ms, concurrentJobs ${CONCURRENCY}`,
  bulk: { size: Number(process.env.GB ?? 5_000), lanes: Number(process.env.GBL ?? 1) },
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
      await utils.addJobs(payloads.map((payload) => ({ identifier: TASK, payload, maxAttempts: MAX_ATTEMPTS })))
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
        localQueue: {
          size: LOCAL_QUEUE_SIZE,
          ...(REFETCH_DELAY_MS > 0 ? { refetchDelay: { durationMs: REFETCH_DELAY_MS, threshold: Number(process.env.GT ?? 0) } } : {}),
        },
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

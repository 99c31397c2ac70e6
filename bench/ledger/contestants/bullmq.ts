// BullMQ on Redis without persistence, its fastest setting (and one in which a crash of Redis loses accepted jobs).

import { Queue, Worker as BullWorker } from 'bullmq'
import type { Contestant, Handle, Producer, Servers, Worker } from '../contestant.ts'
import { installedVersion } from './installed-version.ts'

const QUEUE = 'noop'
const CONCURRENCY = Number(process.env.MC ?? 100)
const WORKERS = Number(process.env.MW ?? 1)
const AUTO = process.env.MA === '1'
// Finished jobs are removed and the stream of events is kept short: less for Redis to store.
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true } as const
const EVENTS_KEPT = Number(process.env.ME ?? 100)

export const bullmq: Contestant = {
  name: 'bullmq',
  title: `BullMQ ${installedVersion('bullmq')}`,
  side: 'peer',
  settings: `Redis without persistence; ${WORKERS} worker, concurrency ${CONCURRENCY}, removeOnComplete, addBulk`,
  bulk: { size: Number(process.env.MB ?? 1_000), lanes: Number(process.env.MBL ?? 1) },
  openProducer,
  startWorker,
}

async function openProducer({ redis }: Servers): Promise<Producer> {
  const queue = new Queue(QUEUE, {
    connection: {
      ...(process.env.MU === '1' ? { path: redis.path } : { host: redis.host, port: redis.port }),
      enableAutoPipelining: AUTO,
    },
    defaultJobOptions: JOB_OPTIONS,
    streams: { events: { maxLen: EVENTS_KEPT } },
  })
  await queue.waitUntilReady()

  return {
    async enqueue(payload) {
      await queue.add(QUEUE, payload)
    },
    async enqueueMany(payloads) {
      await queue.addBulk(payloads.map((data) => ({ name: QUEUE, data })))
    },
    async settled() {
      const counts = await queue.getJobCounts('wait', 'active')
      return counts['wait'] === 0 && counts['active'] === 0
    },
    close: () => queue.close(),
  }
}

async function startWorker({ redis }: Servers, handle: Handle): Promise<Worker> {
  const workers = Array.from(
    { length: WORKERS },
    () =>
      new BullWorker(QUEUE, async (job) => handle(job.data), {
        connection: {
          ...(process.env.MU === '1' ? { path: redis.path } : { host: redis.host, port: redis.port }),
          enableAutoPipelining: AUTO,
        },
        concurrency: CONCURRENCY,
      }),
  )
  for (const worker of workers) worker.on('error', (error) => console.error('BullMQ:', error.message))
  await Promise.all(workers.map((worker) => worker.waitUntilReady()))
  return {
    async stop() {
      await Promise.all(workers.map((worker) => worker.close()))
    },
  }
}

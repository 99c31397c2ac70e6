// BullMQ on Redis without persistence, its fastest setting (and one in which a crash of Redis loses accepted jobs).

import { Queue, Worker as BullWorker } from 'bullmq'
import type { Contestant, Handle, Producer, Servers, Worker } from '../contestant.ts'
import { installedVersion } from './installed-version.ts'

const QUEUE = 'noop'
const CONCURRENCY = 100
// Finished jobs are removed and the stream of events is kept short: less for Redis to store.
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true } as const
const EVENTS_KEPT = 100

export const bullmq: Contestant = {
  name: 'bullmq',
  title: `BullMQ ${installedVersion('bullmq')}`,
  side: 'peer',
  settings: `Redis without persistence, concurrency ${CONCURRENCY}, removeOnComplete, ${EVENTS_KEPT} events kept, addBulk of 1,000`,
  bulk: { size: 1_000, lanes: 1 },
  openProducer,
  startWorker,
}

async function openProducer({ redis }: Servers): Promise<Producer> {
  const queue = new Queue(QUEUE, {
    connection: connectionTo(redis),
    defaultJobOptions: JOB_OPTIONS,
    streams: { events: { maxLen: EVENTS_KEPT } },
  })
  queue.on('error', complain)
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
  const worker = new BullWorker(QUEUE, async (job) => handle(job.data), {
    connection: connectionTo(redis),
    concurrency: CONCURRENCY,
  })
  worker.on('error', complain)
  await worker.waitUntilReady()
  return { stop: () => worker.close() }
}

function complain(error: Error): void {
  console.error('BullMQ:', error.message)
}

function connectionTo({ host, port }: Servers['redis']): { host: string; port: number } {
  return { host, port }
}

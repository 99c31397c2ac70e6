// pg-boss with its own `fetch` and `complete` in a loop rather than `work`: `work` polls at most every half second,
// which would cap its rate and give it a quarter of a second of latency; the documented calls below have neither limit.

import { setTimeout as sleep } from 'node:timers/promises'
import PgBoss from 'pg-boss'
import type { Contestant, Handle, Producer, Servers, Worker } from '../contestant.ts'
import { installedVersion } from './installed-version.ts'
import { openPool } from './pool.ts'

const QUEUE = 'noop'
const PRODUCER_CONNECTIONS = 10
const LANES = 2
const BATCH_SIZE = 1_000
const IDLE_PAUSE_MS = 2

const SETTLED = `select not exists (select from pgboss.job where name = '${QUEUE}' and state < 'completed') as settled`

export const pgBoss: Contestant = {
  name: 'pg-boss',
  title: `pg-boss ${installedVersion('pg-boss')}`,
  side: 'peer',
  settings: `fetch and complete up to ${BATCH_SIZE} at a time in ${LANES} loops, ${IDLE_PAUSE_MS} ms between polls; insert of 5,000`,
  bulk: { size: 5_000, lanes: 1 },
  openProducer,
  startWorker,
}

async function openProducer({ postgres }: Servers): Promise<Producer> {
  const boss = await open(postgres, PRODUCER_CONNECTIONS)
  await boss.createQueue(QUEUE)
  const pool = openPool(postgres, 1)

  return {
    async enqueue(payload) {
      await boss.send(QUEUE, payload)
    },
    async enqueueMany(payloads) {
      await boss.insert(payloads.map((data) => ({ name: QUEUE, data })))
    },
    async settled() {
      const { rows } = await pool.query<{ settled: boolean }>(SETTLED)
      return rows[0]?.settled === true
    },
    async close() {
      await pool.end()
      await boss.stop({ graceful: false, wait: true })
    },
  }
}

async function startWorker({ postgres }: Servers, handle: Handle): Promise<Worker> {
  const boss = await open(postgres, LANES * 2)
  const stopping = new AbortController()
  const lanes = Array.from({ length: LANES }, () => consume(boss, handle, stopping.signal))
  return {
    async stop() {
      stopping.abort()
      await Promise.all(lanes)
      await boss.stop({ graceful: false, wait: true })
    },
  }
}

async function consume(boss: PgBoss, handle: Handle, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const jobs = await boss.fetch(QUEUE, { batchSize: BATCH_SIZE })
    for (const job of jobs) handle(job.data)
    if (jobs.length > 0) {
      await boss.complete(
        QUEUE,
        jobs.map((job) => job.id),
      )
    }
    if (jobs.length < BATCH_SIZE) await sleep(IDLE_PAUSE_MS)
  }
}

/** Maintenance and cron are off: they are not what is measured, and they would only slow it down. */
async function open(postgres: Servers['postgres'], max: number): Promise<PgBoss> {
  const boss = new PgBoss({ ...postgres, max, supervise: false, schedule: false })
  boss.on('error', (error) => console.error('pg-boss:', error.message))
  await boss.start()
  return boss
}

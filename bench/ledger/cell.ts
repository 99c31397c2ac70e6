// One cell of the table: one contestant in one measurement of one repetition, with a database, a Redis and a worker
// process that nobody has used before. Dead rows, caches and compiled code of one cell never help or hurt another.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { nowUs } from '../clock.ts'
import { processorMicros } from '../processor.ts'
import type { PostgresServer } from '../servers/postgres.ts'
import type { RedisServer } from '../servers/redis.ts'
import type { Teardown } from '../teardown.ts'
import type { Contestant, Payload, Producer, Servers } from './contestant.ts'
import { forkWorker, type WorkerProcess } from './worker-process.ts'

const SETTLE_MS_MAX = 60_000
const SETTLE_EVERY_MS = 1

export interface Field {
  postgres: PostgresServer
  redis: RedisServer
  teardown: Teardown
}

/** Processor time so far, in microseconds. */
export interface Spent {
  node: number
  postgres: number
  redis: number
}

export interface Cell {
  contestant: Contestant
  producer: Producer
  worker: WorkerProcess
  /** A further worker process, which ends with the cell. */
  addWorker(): Promise<WorkerProcess>
  /** See PostgresServer.settle. */
  settleDatabase(): Promise<void>
  spent(): Spent
}

export async function inNewCell<T>(field: Field, contestant: Contestant, body: (cell: Cell) => Promise<T>): Promise<T> {
  const database = `bench_${randomUUID().replaceAll('-', '')}`
  const { host, port, user } = field.postgres
  const { redis } = field
  const servers: Servers = {
    postgres: { host, port, user, database },
    redis: { host: redis.host, port: redis.port, path: redis.path },
  }

  await redis.flush()
  await field.postgres.createDatabase(database)
  const producer = await contestant.openProducer(servers)
  const worker = await forkWorker(contestant, servers, field.teardown)
  const workers = [worker]
  try {
    return await body({
      contestant,
      producer,
      worker,
      async addWorker() {
        const another = await forkWorker(contestant, servers, field.teardown)
        workers.push(another)
        return another
      },
      settleDatabase: () => field.postgres.settle(database),
      spent: () => ({
        node: processorMicros(workers.map(({ pid }) => pid)) + ownMicros(),
        postgres: processorMicros([field.postgres.pid]),
        redis: processorMicros([redis.pid]),
      }),
    })
  } finally {
    await Promise.all(workers.map(({ stop }) => stop()))
    await producer.close()
    await field.postgres.dropDatabase(database)
  }
}

/** Without the servers and the worker, which are its children. */
function ownMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** What the processes spent on each of so many jobs since `before`. */
export function spentPerJob(cell: Cell, before: Spent, jobs: number): Spent {
  const now = cell.spent()
  const per = (name: keyof Spent): number => (now[name] - before[name]) / jobs
  return { node: per('node'), postgres: per('postgres'), redis: per('redis') }
}

export interface Finish {
  /** The start of the round's first handler. */
  firstUs: number
  endUs: number
}

/**
 * Resolves to the moment at which every job of the round is finished. That its handler has run is not enough: some
 * contestants record ends later and in batches, and nobody shall win by not having recorded them. The contestant's
 * records are looked at only after the last handler, so that looking costs nothing while the clock runs.
 */
export async function finished({ producer, worker, contestant }: Cell, round: number, count: number): Promise<Finish> {
  const { firstUs, repeats } = await worker.handled(round, count)
  if (repeats > 0) console.error(`${contestant.title} ran ${repeats} of ${count} jobs more than once`)
  const deadlineUs = nowUs() + SETTLE_MS_MAX * 1_000
  while (!(await producer.settled())) {
    if (nowUs() > deadlineUs) throw new Error(`${contestant.title} has unfinished jobs after ${SETTLE_MS_MAX} ms`)
    await sleep(SETTLE_EVERY_MS)
  }
  return { firstUs, endUs: nowUs() }
}

/** Enqueues `count` jobs of a round with the contestant's bulk call, at its own best size and concurrency. */
export async function enqueueInBulk({ contestant, producer }: Cell, round: number, count: number): Promise<void> {
  const { size, lanes } = contestant.bulk
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) {
      const payloads: Payload[] = []
      for (const end = Math.min(next + size, count); next < end; next++) payloads.push({ round, id: next })
      await producer.enqueueMany(payloads)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

// Races with a known order. A third connection locks the job's row; the contenders are started one after the other, each
// seen to wait for the lock before the next begins; then the lock is let go, and they are served in that order.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Client } from 'pg'
import { openDatabase, type Queryable } from '../../src/core/db/database.ts'
import type { Ledger } from '../../src/core/ledger/ledger.ts'
import { atEnd } from '../support/cleanup.ts'
import type { PgConnection } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { deafBus, openTestLedger, setupLedger } from '../support/ledger.ts'

const COUNT_BLOCKED = `
  select count(*)::integer as n from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock'`
const LOCK_JOB = `select from jobs where job_id = $1 for update`

export type World = Awaited<ReturnType<typeof setupContest>>

/** One ledger to arrange with, and rivals that share nothing with it but the database. */
export async function setupContest(t: TestContext, rivals: number) {
  const world = await setupLedger(t)
  const others = Array.from({ length: rivals }, () => openRival(t, world.at))
  return { ...world, rivals: others }
}

function openRival(t: TestContext, at: Awaited<ReturnType<typeof setupLedger>>['at']): Ledger {
  const database = openDatabase(at, () => {})
  atEnd(t, () => database.close())
  return openTestLedger({ database, bus: deafBus })
}

export type Contender = (ledger: Ledger) => Promise<unknown>

export interface Contest {
  jobId: string
  contenders: readonly Contender[]
  /**
   * What the third connection does to the locked row before it lets go: for one contender. Several would go from the old version
   * of the row to the new one without an order.
   */
  meanwhile?: string | undefined
  /** The row is let go when this has resolved. */
  waitFor?: (() => Promise<void>) | undefined
}

/** Their answers, when the row serves them in the order given. */
export function contest(world: World, { jobId, contenders, ...more }: Contest): Promise<unknown[]> {
  assert(more.meanwhile === undefined || contenders.length === 1)
  const calls = contenders.map((contender, index) => () => {
    const rival = world.rivals[index]
    assert(rival !== undefined)
    return contender(rival)
  })
  return servedInOrder(world, { lock: LOCK_JOB, id: jobId, calls, ...more })
}

interface Order<T> {
  /** The row that all calls wait for. */
  lock: string
  id: string | number
  calls: readonly (() => Promise<T>)[]
  meanwhile?: string | undefined
  waitFor?: (() => Promise<void>) | undefined
}

/** The answers of calls that wait for one row, and get it in the order given. */
export async function servedInOrder<T>(
  { at, database }: { at: PgConnection; database: Queryable },
  { lock: statement, id, calls, meanwhile, waitFor }: Order<T>,
): Promise<T[]> {
  const lock = new Client(at)
  await lock.connect()
  try {
    await lock.query('begin')
    await lock.query(statement, [id])
    const answers: Promise<T>[] = []
    for (const [index, call] of calls.entries()) {
      answers.push(call())
      await untilBlocked(database, index + 1)
    }
    if (meanwhile !== undefined) await lock.query(meanwhile)
    await waitFor?.()
    await lock.query('commit')
    return await Promise.all(answers)
  } finally {
    await lock.end()
  }
}

/** So many connections wait for a lock. */
export async function untilBlocked(on: Queryable, count: number): Promise<void> {
  const blocked = async () => (await on.query<{ n: number }>(COUNT_BLOCKED))[0]?.n
  await until(`${count} connections wait for a lock`, async () => (await blocked()) === count, blocked)
}

export const EXPIRE = `update jobs set lease_until = clock_timestamp() - interval '1 ms' where state = 'processing'`
export const EXPIRE_SOON = `update jobs set lease_until = clock_timestamp() + interval '1 s' where state = 'processing'`

// A ledger on a database of its own, with short words for what a test arranges.
import type { TestContext } from 'node:test'
import assert from 'node:assert/strict'
import type { Bus } from '../../src/core/events/bus.ts'
import { openPostgresBus } from '../../src/core/events/postgres-bus.ts'
import type { Acquired } from '../../src/core/ledger/job.ts'
import { openLedger, type Ledger, type LedgerOptions } from '../../src/core/ledger/ledger.ts'
import type { NewJob } from '../../src/core/ledger/submit/submit.ts'
import type { MigrationFolder } from '../../src/core/db/migrate.ts'
import { atEnd } from './cleanup.ts'
import { testDatabase } from './database.ts'

export async function setupLedger(t: TestContext, doors: readonly MigrationFolder[] = []) {
  const { database, at } = await testDatabase(t, doors)
  const bus = await openPostgresBus(database, (error) => assert.fail(String(error)))
  const ready: string[] = []
  const open = () => openTestLedger({ database, bus, onReady: (kinds) => ready.push(...kinds) })
  const ledger = open()
  atEnd(t, async () => {
    ledger.close()
    await bus.close()
  })

  /** The job's lease ran out a moment ago. */
  const expireLease = (jobId: string) =>
    database.query(`update jobs set lease_until = clock_timestamp() - interval '1 ms' where job_id = $1`, [jobId])

  return { ledger, open, database, at, bus, ready, expireLease, ...shortcuts(ledger) }
}

/** A ledger with the usual choices, on whatever it is given. */
export const openTestLedger = (options: Pick<LedgerOptions, 'database' | 'bus'> & Partial<LedgerOptions>): Ledger =>
  openLedger({
    maxAttempts: 5,
    ageingSec: 60,
    announceByOutbox: false,
    onReady: () => {},
    onOutbox: () => {},
    ...options,
  })

/** Loses every hint. */
export const deafBus: Bus = { publish: () => {}, subscribe: () => () => {}, close: async () => {} }

function shortcuts(ledger: Ledger) {
  const submit = async (job: Partial<NewJob> = {}): Promise<string> => {
    const answer = await ledger.submit({ kind: 'echo', payload: { n: 1 }, ...job })
    assert(answer.ok)
    return answer.jobId
  }
  const acquire = async (jobId: string, owner = 'w1', leaseMs = 60_000): Promise<Acquired> => {
    const answer = await ledger.acquire({ jobId, owner, leaseMs })
    assert(answer.ok, JSON.stringify(answer))
    return answer.job
  }
  return { submit, acquire }
}

// Retention: the one loop that deletes what has served its time. Every part deletes a bounded batch per pass, and passes are a
// moment apart, so that neither locks nor vacuum of it are felt by the work. Any number of processes may run it.
//
// A setting of 0 days keeps a thing for ever. A kind says through `releaseOld` which of its old jobs may go (executor/kind.ts).
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from './config.ts'
import type { Clock } from './clock.ts'
import type { Database, Queryable } from './db/database.ts'
import { pruneAttempts } from './deliveries/attempt-log.ts'
import type { Events } from './events/events.ts'
import type { Kinds } from './executor/endings.ts'
import { DELETE_OLD_AUDITS } from './identity/audit.ts'
import type { Ledger } from './ledger/ledger.ts'
import { openPrune, type ReleaseOld } from './ledger/prune.ts'
import type { Loop } from './loop.ts'
import { pruneOutbox } from './outbox/prune.ts'

const EVERY_MS = 600_000
const PAUSE_MS = 100
const BATCH = 5000

/** One bounded batch; resolves to whether more is waiting. */
export interface Prunable {
  name: string
  runOnce(signal: AbortSignal): Promise<boolean>
}

export interface RetentionDeps {
  config: Config
  database: Database
  ledger: Pick<Ledger, 'deleteOldKeys'>
  events: Pick<Events, 'deleteOld'>
  kinds: Kinds
  clock: Clock
  /** What doors delete beside the rows of old jobs. */
  ofDoors: readonly Prunable[]
}

export const retentionLoop = (deps: RetentionDeps): Loop => loopOver([...coreParts(deps), ...deps.ofDoors])

function coreParts({ config, database, ledger, events, kinds, clock }: RetentionDeps): Prunable[] {
  const prune = openPrune({
    pool: database,
    kept: {
      jobsDays: config.JOBS_KEPT_DAYS,
      attemptsDays: config.ATTEMPTS_KEPT_DAYS,
      resultsDays: config.RESULTS_KEPT_DAYS,
    },
    releaseOf: (name) => releaseOf(kinds, name),
    forgetOf: (name) => kinds.get(name)?.forgetResults ?? null,
    now: () => clock.now(),
  })
  const outbox = { feed: config.OUTBOX_KEPT_DAYS, deliveries: config.DELIVERIES_KEPT_DAYS }
  return [
    { name: 'jobs', runOnce: async () => (await prune()).more },
    { name: 'idempotency keys', runOnce: () => ledger.deleteOldKeys(BATCH) },
    { name: 'events', runOnce: () => events.deleteOld(config.EVENTS_KEPT_DAYS * 24, BATCH) },
    auditRetention({ config, database }, DELETE_OLD_AUDITS),
    pruneOutbox(database, outbox),
    pruneAttempts(database, config.DELIVERIES_KEPT_DAYS),
  ]
}

interface AuditRetentionDeps {
  config: Pick<Config, 'AUDITS_KEPT_DAYS'>
  database: Queryable
}

/** Of an audit trail, by a statement that takes the days and how many lines at most, and returns a row for each. */
export const auditRetention = ({ config: { AUDITS_KEPT_DAYS: days }, database }: AuditRetentionDeps, sql: string) => ({
  name: 'audits',
  runOnce: async () => days > 0 && (await database.query(sql, [days, BATCH])).length === BATCH,
})

const everything: ReleaseOld = async (_tx, jobIds) => jobIds

function releaseOf(kinds: Kinds, name: string): ReleaseOld | null {
  const kind = kinds.get(name)
  return kind === undefined ? null : (kind.releaseOld ?? everything)
}

/** A part that fails does not keep the others from their turn. */
export const loopOver = (parts: readonly Prunable[]): Loop => ({
  name: 'retention',
  everyMs: EVERY_MS,
  async runOnce(signal) {
    const failures: unknown[] = []
    let more = false
    for (const part of parts) {
      if (signal.aborted) return false
      try {
        more = (await part.runOnce(signal)) || more
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    if (more) await sleep(PAUSE_MS, undefined, { signal }).catch(() => {})
    return more
  },
})

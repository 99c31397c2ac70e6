// A job that dies writes one line with its ids and its reason, whichever process and whichever door ended it.
import { Counter } from 'prom-client'
import type { Logger } from 'pino'
import type { JobEnding } from '../ledger/ended.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { JobSummary } from '../ledger/search.ts'
import { attemptFields } from '../log/log.ts'
import type { Metrics } from '../metrics.ts'

const DEATHS = ['failed', 'buried', 'cancelled'] as const satisfies readonly JobEnding[]

export interface Deaths {
  /** For `LedgerOptions.onEnded`. */
  onEnded(jobIds: readonly string[], ending: JobEnding): void
  /** From then on the counter has a value for these kinds: a rate needs one before the first death. */
  expect(kinds: readonly string[]): void
  /** Resolves when every line is written. */
  close(): Promise<void>
}

interface DeathsDeps {
  ledger: () => Pick<Ledger, 'summaries'>
  metrics: Metrics
  log: Logger
}

export function openDeaths({ ledger, metrics, log }: DeathsDeps): Deaths {
  const writing = new Set<Promise<void>>()
  const died = new Counter({
    name: 'reeve_jobs_dead_total',
    help: 'Jobs that this process recorded as dead: failed for good, buried or cancelled.',
    labelNames: ['kind', 'outcome'],
    registers: [metrics],
  })

  const write = async (jobIds: readonly string[], ending: JobEnding) => {
    try {
      const jobs = await ledger().summaries(jobIds)
      for (const job of jobs) {
        died.inc({ kind: job.kind, outcome: ending })
        log[ending === 'cancelled' ? 'info' : 'warn'](deathFields(job, ending), 'job is dead')
      }
    } catch (error) {
      for (const jobId of jobIds) log.warn({ err: error, job_id: jobId, ending }, 'job is dead')
    }
  }

  return {
    onEnded(jobIds, ending) {
      if (ending === 'done') return
      const one = write(jobIds, ending).finally(() => writing.delete(one))
      writing.add(one)
    },
    expect(kinds) {
      for (const kind of kinds) for (const outcome of DEATHS) died.inc({ kind, outcome }, 0)
    },
    async close() {
      await Promise.all(writing)
    },
  }
}

const deathFields = (job: JobSummary, ending: JobEnding) => ({
  ...attemptFields(job),
  kind: job.kind,
  ending,
  reason: job.reason,
  owner: job.lastOwner,
  account_id: job.accountId,
  replay_of: job.replayOf,
})

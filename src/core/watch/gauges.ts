// Everything that every process exports about the deployment, whatever its role: jobs, feed, outbox, database, disk, backups.
import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { openDatabaseMetrics } from '../db/metrics.ts'
import { diskOf } from '../admin/disk.ts'
import { openBackupMetrics } from '../backup/metrics.ts'
import type { Kinds } from '../executor/endings.ts'
import type { Feed } from '../feed/feed.ts'
import { openJobMetrics } from '../ledger/watch/metrics.ts'
import { sampleKinds } from '../ledger/watch/sample.ts'
import { sampledGauges, type Metrics } from '../metrics.ts'
import { openOutboxGauges } from '../outbox/metrics.ts'

export interface GaugesDeps {
  config: Config
  database: Database
  feed: Feed
  kinds: Kinds
  /** The topics of the outbox. */
  topics: readonly string[]
}

export function openGauges(registry: Metrics, { config, database, feed, kinds, topics }: GaugesDeps): void {
  openDatabaseMetrics(registry, database)
  openBackupMetrics(registry, database)
  openOutboxGauges(registry, database, topics)
  openJobMetrics(registry, { database, kinds: () => kinds.all().map(({ name }) => name) })
  openFeedGauge(registry, { database, feed, kinds })
  openDiskGauges(registry, config.REEVE_DATA_DIR)
}

/** With the PostgreSQL feed, the live rows are the queue. */
function openFeedGauge(registry: Metrics, { database, feed, kinds }: Pick<GaugesDeps, 'database' | 'feed' | 'kinds'>) {
  const sample = async () => {
    const run = kinds.all().flatMap((kind) => (kind.run === undefined ? [] : [kind.name]))
    const { lagSec } = feed
    if (lagSec !== undefined) return Promise.all(run.map(async (kind) => ({ kind, seconds: await lagSec(kind) })))
    const live = await sampleKinds(database)
    return run.map((kind) => ({ kind, seconds: live.find((one) => one.kind === kind)?.oldestSec ?? 0 }))
  }
  sampledGauges(registry, 'feed', sample, [
    {
      name: 'reeve_feed_lag_seconds',
      help: 'Age of the oldest job in the feed that no executor has taken, of the kinds that executors run. 0: there is none.',
      labelNames: ['kind'],
      values: (lags) => lags.map(({ kind, seconds }) => ({ labels: { kind }, value: Math.max(0, seconds) })),
    },
  ])
}

function openDiskGauges(registry: Metrics, dataDir: string): void {
  sampledGauges(registry, 'disk', () => diskOf(dataDir), [
    {
      name: 'reeve_disk_free_bytes',
      help: 'Free bytes of the disk with the data folder, or with the working folder where there is none.',
      values: (disk) => (disk === null ? [] : [{ value: disk.freeBytes }]),
    },
    {
      name: 'reeve_disk_total_bytes',
      help: 'Size of that disk.',
      values: (disk) => (disk === null ? [] : [{ value: disk.totalBytes }]),
    },
  ])
}

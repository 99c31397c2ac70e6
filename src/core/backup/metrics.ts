import type { Database } from '../db/database.ts'
import { sampledGauges, type Metrics } from '../metrics.ts'

const LAST = `
  select extract(epoch from finished_at)::float8 as at from backups order by backup_id desc limit 1`

export function openBackupMetrics(registry: Metrics, database: Database): void {
  sampledGauges(registry, 'backups', () => database.query<{ at: number }>(LAST), [
    {
      name: 'reeve_last_backup_timestamp_seconds',
      help: 'When the last backup was finished. 0: never.',
      values: ([last]) => [{ value: last?.at ?? 0 }],
    },
  ])
}

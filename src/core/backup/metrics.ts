import { Gauge } from 'prom-client'
import type { Database } from '../db/database.ts'
import type { Metrics } from '../metrics.ts'

const LAST = `
  select extract(epoch from finished_at)::float8 as at from backups order by backup_id desc limit 1`

export function openBackupMetrics(registry: Metrics, database: Database): void {
  const last = new Gauge({
    name: 'reeve_last_backup_timestamp_seconds',
    help: 'When the last backup was finished. 0: never.',
    registers: [],
    async collect() {
      const [row] = await database.query<{ at: number }>(LAST)
      this.set(row?.at ?? 0)
    },
  })
  registry.registerMetric(last)
}

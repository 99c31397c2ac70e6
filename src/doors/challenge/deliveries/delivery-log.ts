// The log of attempts to reach the other side is thrown away when it is old. Its rows are numbered in the order of their time.
import type { Database } from '../../../core/db/database.ts'
import type { Loop } from '../../../core/loop.ts'

const CLEAN = `
  delete from challenge_deliveries
   where delivery_id = any(array(select delivery_id from challenge_deliveries order by delivery_id limit $2))
     and created_at < statement_timestamp() - $1 * interval '1 day'
  returning true as deleted`

const EVERY_MS = 600_000
const BATCH = 5000

export const deliveryLogCleaning = (database: Database, keptDays: number, batch = BATCH): Loop => ({
  name: 'throw away the old log of deliveries',
  everyMs: EVERY_MS,
  async runOnce() {
    return (await database.query(CLEAN, [keptDays, batch])).length === batch
  },
})

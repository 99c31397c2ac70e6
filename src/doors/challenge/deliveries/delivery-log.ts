// Deletes old rows of the delivery log. Its ids ascend with time.
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
  name: 'prune-challenge-deliveries',
  everyMs: EVERY_MS,
  async runOnce() {
    return (await database.query(CLEAN, [keptDays, batch])).length === batch
  },
})

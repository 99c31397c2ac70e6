// The insert of one job that is ready at once, in the shortest way: when a server is idle, this is what its caller waits for.
//
// Hands may have the job while it is still on its way to the disk; the caller is answered when it is there. A crash of the
// database in between forgets a job that nobody was promised, and with it whatever hands did: no result is recorded of a job
// that is not on the disk, because a result's own commit waits for all that was committed before it.
import type { Pool, Queryable } from '../../db/database.ts'
import type { WithCommit } from '../../events/bus.ts'
import { storableJson } from '../../db/params.ts'
import { ANNOUNCED, insertAnnouncements } from './insert-jobs.ts'
import { rankSql } from '../rank.ts'
import type { PreparedJob } from './submit.ts'

const WITHOUT_FLUSH = `set_config('synchronous_commit', 'off', true)`
const INSERT_ONE = `
  insert into jobs (payload, rank, job_id, kind, priority, max_attempts, account_id, trace_id, replay_of)
  values ($1, ${rankSql('$5::integer', '0', '$2')}, $3,
          $4, $5, $6, $7, $8, $9)`
const INSERT_ONE_AND_HINT = `${INSERT_ONE} returning ${WITHOUT_FLUSH}, pg_notify($10, $11)`
const INSERT_ONE_AND_OUTBOX = `
  with job as (${INSERT_ONE} returning ${ANNOUNCED}) ${insertAnnouncements('$10')} returning ${WITHOUT_FLUSH}`

// The smallest commit that waits for the disk, and so for all that was committed before it.
const FLUSH = `select pg_logical_emit_message(true, 'reeve', '')`

/** How one job by itself is announced: by a hint that its commit says, or by a row of the outbox and whoever submits it. */
export type Announcement = { hint: WithCommit } | { outboxGraceMs: number; announce(): void }

/** Resolves when the job is on the disk; others hear of it before. */
export async function insertOne(
  pool: Pool,
  job: PreparedJob,
  { ageingSec, announcement }: { ageingSec: number; announcement: Announcement },
): Promise<void> {
  const { payload, jobId, kind, priority, maxAttempts, accountId, traceId, replayOf } = job
  const columns = [jobId, kind, priority, maxAttempts, accountId, traceId, replayOf]
  const params = [storableJson(payload ?? null), ageingSec, ...columns]
  const insertIt = async (on: Queryable) => {
    if ('hint' in announcement) {
      const { channel, message, said } = announcement.hint
      await on.query(INSERT_ONE_AND_HINT, [...params, channel, message])
      said()
    } else {
      await on.query(INSERT_ONE_AND_OUTBOX, [...params, announcement.outboxGraceMs])
      announcement.announce()
    }
  }
  await pool.inTurn(async (on) => {
    const [inserted, flushed] = await Promise.allSettled([insertIt(on), on.query(FLUSH)])
    if (inserted.status === 'rejected') throw inserted.reason
    if (flushed.status === 'rejected') throw flushed.reason
  })
}

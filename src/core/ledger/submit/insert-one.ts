// Inserting one job that is ready at once, with the least latency: on an idle server, this is what the caller waits for.
//
// The insert commits without waiting for the disk, so that executors see the job at once; a second, empty commit waits for
// the disk, and then the caller is answered. If the database crashes in between, it forgets a job that was never
// acknowledged, and everything done for it: the commit of its result would have had to wait for the disk first.
import { promisify } from 'node:util'
import type { Pool, Queryable } from '../../db/database.ts'
import { storableJsonInTurns } from '../../db/params.ts'
import type { WithCommit } from '../../events/bus.ts'
import { rankSql } from './rank.ts'
import { FEED_TOPIC } from './insert-jobs.ts'
import { accepted, type PreparedJob, type Submitted } from './submit.ts'

const INSERT_ONE = `
  insert into jobs (payload, rank, job_id, kind, priority, max_attempts, account_id, trace_id, replay_of)
  values ($1, ${rankSql('$5::integer', '0', '$2')}, $3,
          $4, $5, $6, $7, $8, $9)`

const INSERT_ONE_AND_NOTIFY = `
  ${INSERT_ONE} returning set_config('synchronous_commit', 'off', true), pg_notify($10, $11)`

const INSERT_ONE_AND_OUTBOX = `
  with job as (${INSERT_ONE} returning job_id, kind, priority)
  insert into outbox_events (job_id, topic, payload, next_attempt_at)
  select job_id, '${FEED_TOPIC}', json_build_object('kind', kind, 'priority', priority),
         clock_timestamp() + $10 * interval '1 ms'
    from job
  returning set_config('synchronous_commit', 'off', true)`

const afterTick = promisify(process.nextTick)

// The smallest commit that waits for the disk, and with it for every commit before it.
const FLUSH = `select pg_logical_emit_message(true, 'reeve', '')`

/** How a lone job is announced: by a notification within its commit, or by an outbox row and by the submitter itself. */
export type AnnounceOne = { notify: WithCommit } | { outboxGraceMs: number; announce(): void }

/** Resolves when the job is on disk. Others may see it earlier. */
export async function submitOne(
  pool: Pool,
  job: PreparedJob,
  { ageingSec, by }: { ageingSec: number; by: AnnounceOne },
): Promise<Submitted> {
  const { payload, payloadBytes, jobId, kind, priority, maxAttempts, accountId, trace, replayOf } = job
  const columns = [jobId, kind, priority, maxAttempts, accountId, trace?.traceId ?? null, replayOf]
  const params = [await storableJsonInTurns(payload ?? null, payloadBytes), ageingSec, ...columns]
  const insert = async (on: Queryable) => {
    if ('notify' in by) {
      const { channel, message, said } = by.notify
      await on.query(INSERT_ONE_AND_NOTIFY, [...params, channel, message])
      said()
    } else {
      await on.query(INSERT_ONE_AND_OUTBOX, [...params, by.outboxGraceMs])
      by.announce()
    }
  }
  await pool.inTurn(async (on) => {
    const inserting = insert(on)
    await afterTick() // the insert is on its way: PostgreSQL works on it while the next statement is made
    const [inserted, flushed] = await Promise.allSettled([inserting, on.query(FLUSH)])
    if (inserted.status === 'rejected') throw inserted.reason
    if (flushed.status === 'rejected') throw flushed.reason
  })
  return accepted(job)
}

// Inserting jobs, together with their announcement.
//
// With the PostgreSQL feed the pending row itself is the announcement. With the Redis feed an outbox row commits with the
// job, so that a crash between the commit and Redis loses nothing: one row per job, or one for all jobs of a statement.
import type { Queryable } from '../../db/database.ts'
import { nullableNumbers, nullableTexts, numbersParam, onceIfSame, textsParam, uuidsParam } from '../../db/params.ts'
import { sameInAll } from '../../db/sql.ts'
import { payloadsParam, type PayloadTexts } from './payload-texts.ts'
import { rankSql } from './rank.ts'
import type { PreparedJob } from './submit.ts'

// One array per column: PostgreSQL parses them in half the time of an array of objects. A column that is null in every row
// is sent as null instead of an array, and one that has the same value in every row as an array of one.
export const JOB_ARRAYS = `json_array_elements($1), unnest($3::uuid[], $4::text[], $5::integer[], $6::bigint[], $7::integer[],
         $8::bigint[], $9::text[], $10::uuid[])`
export const JOB_COLUMNS = `payload, job_id, kind, priority, delay_ms, max_attempts, account_id, trace_id, replay_of`

const KIND = sameInAll('$4::text[]', 'kind')
const PRIORITY = sameInAll('$5::integer[]', 'priority')
const DELAY_MS = sameInAll('$6::bigint[]', 'delay_ms')

/** From rows that have the columns of a job, all of them or a part. */
export const insertJobsFrom = (rows: string): string => `
  insert into jobs (job_id, kind, priority, rank, due_at, payload, max_attempts, account_id, trace_id, replay_of)
  select job_id, ${KIND}, ${PRIORITY}, ${rankSql(`(${PRIORITY})`, `(${DELAY_MS})`, '$2')},
         case when ${DELAY_MS} > 0 then clock_timestamp() + (${DELAY_MS}) * interval '1 ms' end,
         coalesce(payload, 'null'::json), ${sameInAll('$7::integer[]', 'max_attempts')},
         ${sameInAll('$8::bigint[]', 'account_id')}, trace_id, replay_of
    from ${rows}`

const INSERT_JOBS = insertJobsFrom(`rows from (${JOB_ARRAYS}) as r (${JOB_COLUMNS})`)

/** Topic of outbox rows that announce one job to the feed. */
export const FEED_TOPIC = 'feed'
const INSERT_JOBS_AND_OUTBOX = `
  with job as (${INSERT_JOBS} returning job_id, kind, priority, due_at)
  insert into outbox_events (job_id, topic, payload, next_attempt_at)
  select job_id, '${FEED_TOPIC}', json_build_object('kind', kind, 'priority', priority),
         coalesce(due_at, clock_timestamp() + $11 * interval '1 ms')
    from job`

/** Topic of outbox rows that announce many jobs. The row carries their ids, and its job_id is the first of them. */
export const BATCH_TOPIC = 'feed_batch'
const INSERT_JOBS_AND_BATCH = `
  with job as (${INSERT_JOBS})
  insert into outbox_events (job_id, topic, payload, next_attempt_at)
  values (($3::uuid[])[1], '${BATCH_TOPIC}', to_json($3::uuid[]), clock_timestamp() + $11 * interval '1 ms')`

export interface InsertOptions {
  ageingSec: number
  announceByOutbox: boolean
  /** Grace period in which the submitter announces the jobs and deletes their outbox rows. */
  outboxGraceMs?: number
  /** One outbox row for all jobs. Only for jobs that are ready at once. */
  inOneOutboxRow?: boolean
}

export interface JobsToInsert {
  jobs: readonly PreparedJob[]
  /** Of the large payloads among them. */
  written: PayloadTexts
}

export async function insertJobs(
  on: Queryable,
  { jobs, written }: JobsToInsert,
  options: InsertOptions,
): Promise<void> {
  if (jobs.length === 0) return
  const { ageingSec, announceByOutbox, outboxGraceMs = 0, inOneOutboxRow = false } = options
  const params = jobParams({ jobs, written }, ageingSec)
  if (!announceByOutbox) await on.query(INSERT_JOBS, params)
  else await on.query(inOneOutboxRow ? INSERT_JOBS_AND_BATCH : INSERT_JOBS_AND_OUTBOX, [...params, outboxGraceMs])
}

/** $1 to $10. */
export const jobParams = ({ jobs, written }: JobsToInsert, ageingSec: number): readonly unknown[] => [
  payloadsParam(jobs, written),
  ageingSec,
  uuidsParam(jobs.map(({ jobId }) => jobId)),
  textsParam(onceIfSame(jobs, ({ kind }) => kind)),
  numbersParam(onceIfSame(jobs, ({ priority }) => priority)),
  numbersParam(onceIfSame(jobs, ({ delayMs }) => delayMs)),
  nullableNumbers(onceIfSame(jobs, ({ maxAttempts }) => maxAttempts)),
  nullableNumbers(onceIfSame(jobs, ({ accountId }) => accountId)),
  nullableTexts(jobs.map(({ trace }) => trace?.traceId ?? null)),
  nullableTexts(jobs.map(({ replayOf }) => replayOf)),
]

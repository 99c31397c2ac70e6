// submit for a door whose own rows decide which jobs are created. The door's rows and the jobs are written by one statement
// and one commit; a transaction would add a round trip for each of its statements to every request.
//
// The door writes that statement, from `with` to its answer. It reads its requests from `$1`, an array of objects, inserts
// its own rows in a common table expression named `accepted`, whose one column is job_id, and puts the ledger's part, below,
// right after it. The ledger's part creates a job for every request whose job_id is in `accepted`.
import type { Queryable } from '../../db/database.ts'
import { jsonInTurns } from '../../values/json-pieces.ts'
import { rankSql } from './rank.ts'
import { FEED_TOPIC, type InsertOptions } from './insert-jobs.ts'
import type { PreparedJob } from './submit.ts'

const CREATE_JOBS = `job as (
    insert into jobs (job_id, kind, priority, rank, due_at, payload, max_attempts, account_id, trace_id, replay_of)
    select job_id, kind, priority, ${rankSql('priority', 'delay_ms', '$2')},
           case when delay_ms > 0 then clock_timestamp() + delay_ms * interval '1 ms' end,
           coalesce(payload, 'null'::json), max_attempts, account_id, trace_id, replay_of
      from json_to_recordset($1) as r (job_id uuid, kind text, priority integer, delay_ms bigint, payload json,
           max_attempts integer, account_id bigint, trace_id text, replay_of uuid)
      join accepted using (job_id)
    returning job_id, kind, priority, due_at
  )`

const CREATE_JOBS_AND_OUTBOX = `${CREATE_JOBS}, announced as (
    insert into outbox_events (job_id, topic, payload, next_attempt_at)
    select job_id, '${FEED_TOPIC}', json_build_object('kind', kind, 'priority', priority),
           coalesce(due_at, clock_timestamp())
      from job
  )`

export interface GuardedJob<Job> {
  job: Job
  /** What the door's statement reads of the request, beside the columns of every job. */
  more: object
  /** About the size of its JSON. */
  bytes: number
}

/** The door's statement, given the ledger's part. */
export type GuardedStatement = (createJobs: string) => string

export function openGuarded<Answer extends object>(
  statement: GuardedStatement,
  { ageingSec, announceByOutbox }: InsertOptions,
): (on: Queryable, requests: readonly GuardedJob<PreparedJob>[]) => Promise<Answer[]> {
  const sql = statement(announceByOutbox ? CREATE_JOBS_AND_OUTBOX : CREATE_JOBS)
  return async (on, requests) => {
    const bytes = requests.reduce((sum, request) => sum + request.bytes, 0)
    const rows = await jsonInTurns(
      requests.map(({ job, more }) => ({ ...rowOf(job), ...more })),
      bytes,
    )
    return on.query<Answer>(sql, [rows, ageingSec])
  }
}

/** Null columns are left out: PostgreSQL reads a missing field as null without parsing it. */
const rowOf = (job: PreparedJob) => ({
  job_id: job.jobId,
  kind: job.kind,
  priority: job.priority,
  delay_ms: job.delayMs,
  payload: job.payload ?? undefined,
  max_attempts: job.maxAttempts ?? undefined,
  account_id: job.accountId ?? undefined,
  trace_id: job.trace?.traceId,
  replay_of: job.replayOf ?? undefined,
})

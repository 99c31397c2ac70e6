// The whole ledger as plain values: what a refusal must leave as it was.
import type { Queryable } from '../../src/core/db/database.ts'

const DUMP = `
  select (select json_agg(row_to_json(j) order by j.job_id) from jobs j) as jobs,
         (select json_agg(row_to_json(a) order by a.job_id, a.attempt_id) from attempts a) as attempts,
         (select json_agg(row_to_json(o) order by o.outbox_id) from outbox_events o) as outbox,
         (select json_agg(row_to_json(k) order by k.scope, k.key) from idempotency_keys k) as keys`

export const dump = async (on: Queryable): Promise<object | undefined> => (await on.query(DUMP))[0]

/** An effect that leaves a row behind, and the rows that were left. */
const LEAVE_NOTE = `
  insert into outbox_events (job_id, topic, payload)
  select job_id, topic, '{}' from json_to_recordset($1) as r (job_id uuid, topic text)`

export const note = (jobId: string, topic = 'note') => ({ sql: LEAVE_NOTE, row: { job_id: jobId, topic } })

export const notes = async (on: Queryable): Promise<string[]> =>
  (await on.query<{ job_id: string }>(`select job_id from outbox_events where topic = 'note' order by outbox_id`)).map(
    (row) => row.job_id,
  )

export const UNKNOWN_JOB = '0190a000-0000-7000-8000-000000000000'

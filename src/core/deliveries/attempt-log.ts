// The log of attempts: one row for each time that a signed request was sent, whatever came of it.
import type { Database } from '../db/database.ts'
import type { Loop } from '../loop.ts'

const INSERT = `
  insert into delivery_attempts (outbox_id, topic, subject, request_id, attempt, url, status_code, error, cause, peer_code,
                                 duration_ms)
  select outbox_id, topic, subject, request_id, attempt, url, status_code, error, cause, peer_code, duration_ms
    from json_to_recordset($1) as r (outbox_id bigint, topic text, subject text, request_id text, attempt integer,
         url text, status_code integer, error text, cause text, peer_code text, duration_ms integer)`

const COLUMNS = `request_id, attempt, url, status_code, error, cause, peer_code, duration_ms, created_at`

const SELECT_OF_SUBJECT = `
  select ${COLUMNS}
    from delivery_attempts where topic = $1 and subject = $2 order by delivery_attempt_id desc limit $3`

const SELECT_OF_ROW = `
  select ${COLUMNS} from delivery_attempts where outbox_id = $1 order by delivery_attempt_id desc limit $2`

const SELECT_LAST = `
  select subject, max(delivery_attempt_id) as last from delivery_attempts where topic = $1 and subject = any($2) group by subject`

// Numbered in the order of their time: the oldest page is looked at, and the loop ends at the first that is too young.
const PRUNE = `
  delete from delivery_attempts
   where delivery_attempt_id = any(array(
           select delivery_attempt_id from delivery_attempts order by delivery_attempt_id limit $2))
     and created_at < statement_timestamp() - $1 * interval '1 day'
  returning true as deleted`

const PRUNE_EVERY_MS = 600_000
const PRUNE_PAGE = 5000

interface LoggedAttempt {
  request_id: string
  /** From 1, since the last replay. */
  attempt: number
  url: string
  /** Null: there was no answer. */
  status_code: number | null
  error: string | null
  /** Of a failed connection: the code of the system or of TLS. */
  cause: string | null
  /** The error code in the answer's body. */
  peer_code: string | null
  duration_ms: number
}

export interface NewAttempt extends LoggedAttempt {
  outbox_id: number
  topic: string
  subject: string
}

export interface StoredAttempt extends LoggedAttempt {
  created_at: Date
}

export interface AttemptLog {
  write(attempts: readonly NewAttempt[]): Promise<void>
  /** Newest first. */
  of(topic: string, subject: string, limit: number): Promise<StoredAttempt[]>
  ofRow(outboxId: number, limit: number): Promise<StoredAttempt[]>
  /** The number of each subject's last attempt: it changes when there is another. */
  lastOf(topic: string, subjects: readonly string[]): Promise<ReadonlyMap<string, number>>
}

export const openAttemptLog = (database: Database): AttemptLog => ({
  async write(attempts) {
    // It is on disk with the outcome of the delivery, which is committed after it and waits for the disk.
    await database.asyncCommit.query(INSERT, [JSON.stringify(attempts)])
  },
  of: (topic, subject, limit) => database.query<StoredAttempt>(SELECT_OF_SUBJECT, [topic, subject, limit]),
  ofRow: (outboxId, limit) => database.query<StoredAttempt>(SELECT_OF_ROW, [outboxId, limit]),
  async lastOf(topic, subjects) {
    const rows = await database.query<{ subject: string; last: string }>(SELECT_LAST, [topic, subjects])
    return new Map(rows.map(({ subject, last }) => [subject, Number(last)]))
  },
})

export const pruneAttempts = (database: Database, keptDays: number, page = PRUNE_PAGE): Loop => ({
  name: 'prune-the-log-of-delivery-attempts',
  everyMs: PRUNE_EVERY_MS,
  async runOnce() {
    return (await database.query(PRUNE, [keptDays, page])).length === page
  },
})

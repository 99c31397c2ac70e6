import type { RetryPolicy } from '../concurrency/retry.ts'

/** How rows of one topic leave the database. At least once: a delivery that is repeated must change nothing. */
export interface Delivery {
  topic: string
  /** One answer per row, in their order. Throwing fails them all. */
  deliver(rows: readonly OutboxRow[], signal: AbortSignal): Promise<readonly Delivered[]>
  /** Kept rows are marked delivered, as a log that can be shown; the others are deleted. */
  keeps: boolean
  rowsMax: number
  /** How long a claimed row is nobody else's, doubling with each attempt: longer than a delivery takes. Default: a minute. */
  claimMs?: number
  retry: RetryPolicy
  /** Then the row is dead, and can be replayed. Null: never gives up. */
  attemptsMax: number | null
}

/**
 * How rows of one topic move to another table of this database. Nothing outside sees a row twice, so none is claimed: a transfer
 * that is repeated, or runs beside another, must change nothing.
 */
export interface Transfer {
  topic: string
  /** How long the next batch gathers after one that was not full, where nobody waits for the rows. Default: not at all. */
  gatherMs?: number
  /** One batch, of those that are due. */
  transfer(): Promise<{ rows: number; more: boolean }>
}

export interface OutboxRow {
  outboxId: number
  jobId: string | null
  topic: string
  payload: unknown
  /** This attempt included; from 1 again after a replay. */
  attempts: number
}

/** A row that its writer has delivered itself, by what the writer knows of it. */
export interface DeliveredRow {
  topic: string
  jobId: string
  /** Where it is now: an entry of a stream, or several with commas between. Null: it has none. */
  entryId: string | null
}

export type Delivered =
  | { ok: true; entryId?: string }
  /** `final`: trying again would not help. `retryMs`: what the other side asked for. */
  | { ok: false; error: string; final?: boolean; retryMs?: number }

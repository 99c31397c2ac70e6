// The outbox rows that announce jobs: one topic for rows of one job, another for rows of many.
import { Type } from 'typebox'
import { Check } from 'typebox/value'
import { BATCH_TOPIC, FEED_TOPIC } from '../../ledger/submit/insert-jobs.ts'
import type { Delivered, Delivery, OutboxRow } from '../../outbox/delivery.ts'
import type { Announcer } from './announcer.ts'

const ROWS_MAX = 1000
const DELIVERY = { claimMs: 5000, retry: { baseMs: 250, maxMs: 5000 }, attemptsMax: null }
const JobIds = Type.Array(Type.String())

/** The job has ended or has an executor: its entry, or repair, takes care of the rest. */
const NOTHING_TO_ANNOUNCE: Delivered = { ok: true }
const NO_JOB: Delivered = { ok: false, error: 'The row names no job.', final: true }

/** `keeps`: delivered rows stay, marked, for OUTBOX_KEPT_DAYS. */
export function feedDeliveries(announcer: Announcer, keeps: boolean): Delivery[] {
  const deliverOwn = async (rows: readonly OutboxRow[], signal: AbortSignal): Promise<Delivered[]> => {
    const jobIds = rows.flatMap(({ jobId }) => jobId ?? [])
    const answerOf = await announcer.deliver(jobIds, signal)
    return rows.map(({ jobId }) => (jobId === null ? NO_JOB : (answerOf.get(jobId) ?? NOTHING_TO_ANNOUNCE)))
  }

  /** The row stays until all of its jobs are announced. Those that are in a stream already are not announced twice. */
  const deliverBatch = async ({ payload }: OutboxRow, signal: AbortSignal): Promise<Delivered> => {
    if (!Check(JobIds, payload)) return NO_JOB
    const answers = await announcer.deliver(payload, signal)
    const refused = [...answers.values()].find((answer) => !answer.ok)
    if (refused !== undefined) return refused
    const entryIds = payload.map((jobId) => entryOf(answers.get(jobId)))
    if (entryIds.every((id) => id === '')) return { ok: true }
    return { ok: true, entryId: entryIds.join() } // in the order of the row's jobs; empty: not announced by this row
  }

  return [
    { ...DELIVERY, keeps, topic: FEED_TOPIC, rowsMax: ROWS_MAX, deliver: deliverOwn },
    {
      ...DELIVERY,
      keeps,
      topic: BATCH_TOPIC,
      rowsMax: 1, // a row is a batch already
      deliver: async (rows, signal) => Promise.all(rows.map((row) => deliverBatch(row, signal))),
    },
  ]
}

const entryOf = (answer: Delivered | undefined): string => (answer?.ok === true ? (answer.entryId ?? '') : '')

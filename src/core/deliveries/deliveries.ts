// Signed requests to addresses outside, for every door: queued with the transition that causes them, sent by the outbox's
// dispatcher (signed-delivery.ts), with one log of attempts (attempt-log.ts). A delivery is a row of the outbox; one that was
// given up is a dead letter, which an admin lists and replays.
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Database, Queryable } from '../db/database.ts'
import type { Effect } from '../ledger/effects.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Outbound } from '../outbound/outbound.ts'
import type { Delivery } from '../outbox/delivery.ts'
import type { ListedRow, ListFilter, Outbox, ReplayChoice, RowOfJob, RowState } from '../outbox/outbox.ts'
import { openAttemptLog, type StoredAttempt } from './attempt-log.ts'
import { signedDeliveries } from './signed-delivery.ts'
import { requestFrom, storedFrom, type Sender, type SignedRequest } from './signed-request.ts'
import type { RequestTrace } from '../traces/context.ts'
import type { DeliveryTraces } from '../traces/traces.ts'

export interface ListedDelivery extends Omit<ListedRow, 'payload'> {
  request: SignedRequest
}

export interface DeliveryWithAttempts extends ListedDelivery {
  log: readonly StoredAttempt[]
}

export interface Deliveries {
  /** Queues a request with a transition. `jobId`: at most one of this topic for the job. */
  add(topic: string, request: SignedRequest, jobId?: string): Effect
  /** In a transaction of the caller's own, which wakes the outbox after its commit. */
  addIn(tx: Queryable, topic: string, request: SignedRequest, trace?: RequestTrace): Promise<void>
  /** How requests of this topic leave: for `Opened.topics`. */
  senders(sender: Sender): Delivery[]
  list(filter: ListFilter): Promise<ListedDelivery[]>
  /** One delivery with its newest attempts. Null: there is none, or it is of another topic. */
  read(topics: readonly string[], outboxId: number): Promise<DeliveryWithAttempts | null>
  /** The topics of all doors of this process. */
  topics(): readonly string[]
  /** Of one subject, newest first. */
  attempts(topic: string, subject: string, limit: number): Promise<StoredAttempt[]>
  /** The number of each subject's last attempt: it changes when there is another. */
  lastAttempts(topic: string, subjects: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Sends dead letters again, with the same body and request id: a receiver that has it already sees a duplicate. */
  replay(topics: readonly string[], choice?: ReplayChoice): Promise<number[]>
  /** What changes of a delivery, of all topics of this process. */
  states(outboxIds: readonly number[]): Promise<RowState[]>
  newestDead(): Promise<number | null>
  /** What these jobs sent, of all topics of this process. */
  ofJobs(jobIds: readonly string[]): Promise<RowOfJob[]>
}

export interface DeliveriesDeps {
  database: Database
  outbox: Outbox
  outbound: Pick<Outbound, 'request'>
  clock: Clock
  log: Logger
  /** Attempts after the first six. */
  slowRetries: number
  /** Of the jobs that deliveries are about: for log lines. */
  ledger: () => Pick<Ledger, 'summaries'>
  /** Default: off. */
  traces?: DeliveryTraces | null
}

const ATTEMPTS_SHOWN_MAX = 100

export function openDeliveries(deps: DeliveriesDeps): Deliveries {
  const { database, outbox, outbound, clock, log, slowRetries, ledger, traces = null } = deps
  const attempts = openAttemptLog(database)
  const topics = new Set<string>()
  return {
    add: (topic, request, jobId) =>
      outbox.add(topic, { payload: storedFrom(request), ...(jobId === undefined ? {} : { jobId }) }),
    addIn(tx, topic, request, trace) {
      if (traces === null || trace === undefined) return outbox.addIn(tx, topic, { payload: storedFrom(request) })
      trace.caused.push(request.requestId)
      return outbox.addIn(tx, topic, { payload: storedFrom({ ...request, traceId: trace.traceId }) })
    },
    senders(sender) {
      topics.add(sender.topic)
      const sending = { outbound, clock, attempts, log, slowRetries, ledger, traces, wakeOutbox: outbox.wake }
      return signedDeliveries(sending, sender)
    },
    topics: () => [...topics],
    list: async (filter) => (await outbox.list(filter)).map(listedFrom),
    async read(ofTopics, outboxId) {
      const row = await outbox.read(ofTopics, outboxId)
      return row === null ? null : { ...listedFrom(row), log: await attempts.ofRow(outboxId, ATTEMPTS_SHOWN_MAX) }
    },
    attempts: (topic, subject, limit) => attempts.of(topic, subject, limit),
    lastAttempts: (topic, subjects) => attempts.lastOf(topic, subjects),
    replay: (ofTopics, choice) => outbox.replay(ofTopics, choice),
    states: (outboxIds) => outbox.states([...topics], outboxIds),
    newestDead: () => outbox.newestDead([...topics]),
    ofJobs: (jobIds) => outbox.ofJobs([...topics], jobIds),
  }
}

const listedFrom = ({ payload, ...row }: ListedRow): ListedDelivery => ({ ...row, request: requestFrom(payload) })

// Events are what subscribers see: `{ id, channel, type, payload, at }`, in one order per deployment, replayable since an
// id. An event is written to the outbox by the transaction that caused it, copied to the log by the dispatcher, and then
// published to subscribers. A subscriber that knows the last id it saw misses nothing: it reads the log, then the hints.
import type { Database, Queryable } from '../db/database.ts'
import type { Effect } from '../ledger/effects.ts'
import type { Delivery } from '../outbox/delivery.ts'
import type { Bus } from './bus.ts'
import { Subscription, type EventListener } from './subscription.ts'

const TOPIC = 'event'
const HINTS = 'reeve:events'
const HINT_BYTES_MAX = 7000 // NOTIFY takes 8,000

// Parsed as the log parses it: a payload that the log cannot hold fails here, once, and not in every retry of the dispatcher.
const INSERT_OUTBOX = `
  insert into outbox_events (topic, payload)
  select '${TOPIC}', json_build_object('channel', channel, 'type', type, 'payload', payload)
    from json_to_recordset($1) as r (channel text, type text, payload json)`

// Any number that nothing else uses. One dispatcher copies at a time, so that ids rise in the order of visibility.
const COPY_LOCK = 7_305_802
const LOCK_LOG = `select pg_advisory_xact_lock(${COPY_LOCK})`
const COPY_TO_LOG = `
  insert into events (outbox_id, channel, type, payload)
  select outbox_id, channel, type, coalesce(payload, 'null'::json)
    from json_to_recordset($1) as r (outbox_id bigint, channel text, type text, payload json)
   order by outbox_id
      on conflict (outbox_id) do nothing`
const SELECT_SINCE = `
  select event_id, channel, type, payload, created_at from events
   where channel = $1 and event_id > $2 order by event_id limit $3`
const SELECT_LAST = `select coalesce(max(event_id), 0)::bigint as last from events where channel = $1`
const SELECT_LAST_BEFORE = `
  select coalesce(max(event_id), 0)::bigint as last from events where channel = $1 and created_at <= $2`
const DELETE_OLD = `
  delete from events where event_id = any(array(
    select event_id from events where created_at < statement_timestamp() - $1 * interval '1 hour' limit $2))
  returning true as deleted`

export interface NewEvent {
  channel: string
  type: string
  payload: unknown
}

export interface Event extends NewEvent {
  id: number
  at: Date
}

export interface Events {
  /** Makes the event part of a transition: they commit together. */
  effect(event: NewEvent): Effect
  since(channel: string, id: number, limit: number): Promise<Event[]>
  lastId(channel: string): Promise<number>
  /** Id of the last event at this moment: for a client that knows a time and no id. */
  lastIdAt(channel: string, at: Date): Promise<number>
  /** Everything after `since` (default: from now on), in order, none missing. */
  subscribe(channel: string, options: { since?: number }, listener: EventListener): Promise<Subscription>
  delivery: Delivery
  /** Whether there may be more. */
  deleteOld(hours: number, limit: number): Promise<boolean>
}

export function openEvents(database: Database, bus: Bus, log: (error: unknown) => void): Events {
  const since = async (channel: string, id: number, limit: number) =>
    (await database.query<EventRow>(SELECT_SINCE, [channel, id, limit])).map(eventFrom)
  const lastId = async (channel: string) => {
    const [row] = await database.query<{ last: string }>(SELECT_LAST, [channel])
    return Number(row?.last ?? 0)
  }

  return {
    effect: (event) => ({ sql: INSERT_OUTBOX, row: event, topic: TOPIC }),
    since,
    lastId,
    async lastIdAt(channel, at) {
      const [row] = await database.query<{ last: string }>(SELECT_LAST_BEFORE, [channel, at])
      return Number(row?.last ?? 0)
    },
    async subscribe(channel, options, listener) {
      const subscription = new Subscription(channel, since, listener, log)
      const onHint = (message: string) => {
        if (message.split('\n').includes(channel)) subscription.look()
      }
      subscription.onClose(bus.subscribe(HINTS, onHint, () => subscription.look()))
      subscription.begin(options.since ?? (await lastId(channel)))
      return subscription
    },
    delivery: {
      topic: TOPIC,
      keeps: false,
      rowsMax: 500,
      claimMs: 5000,
      retry: { baseMs: 100, maxMs: 10_000 },
      attemptsMax: null,
      deliver: async (rows) => {
        const news = rows.map((row) => ({ ...parseEvent(row.payload), outbox_id: row.outboxId }))
        await database.transaction((tx) => copyToLog(tx, news))
        // Also for events that were in the log before: the process that copied them may have died before it told anyone.
        for (const message of hints(new Set(news.map((event) => event.channel)))) bus.publish(HINTS, message)
        return rows.map(() => ({ ok: true }))
      },
    },
    async deleteOld(hours, limit) {
      return (await database.query(DELETE_OLD, [hours, limit])).length === limit
    },
  }
}

async function copyToLog(tx: Queryable, rows: readonly object[]): Promise<void> {
  await tx.query(LOCK_LOG)
  await tx.query(COPY_TO_LOG, [JSON.stringify(rows)])
}

/** Channels, one per line, in as few messages as the bus can carry. */
function hints(channels: Iterable<string>): string[] {
  const messages: string[] = []
  let bytes = HINT_BYTES_MAX
  for (const channel of channels) {
    bytes += Buffer.byteLength(channel) + 1
    if (bytes > HINT_BYTES_MAX) {
      messages.push(channel)
      bytes = Buffer.byteLength(channel)
    } else {
      messages.push(`${messages.pop()}\n${channel}`)
    }
  }
  return messages
}

function parseEvent(payload: unknown): NewEvent {
  if (typeof payload === 'object' && payload !== null && 'channel' in payload && 'type' in payload) {
    return {
      channel: String(payload.channel),
      type: String(payload.type),
      payload: 'payload' in payload ? payload.payload : null,
    }
  }
  throw new Error('An outbox row of topic event is not an event.')
}

interface EventRow {
  event_id: string
  channel: string
  type: string
  payload: unknown
  created_at: Date
}

const eventFrom = (row: EventRow): Event => ({
  id: Number(row.event_id),
  channel: row.channel,
  type: row.type,
  payload: row.payload,
  at: row.created_at,
})

// Events are what subscribers see: `{ id, channel, type, payload, at }`, in one order per deployment, replayable since an
// id. An event is written to the outbox by the transaction that caused it, copied to the log by the dispatcher, and then
// published to subscribers. A subscriber that knows the last id it saw misses nothing: it reads the log, then the hints.
import type { Database } from '../db/database.ts'
import type { Effect } from '../ledger/effects.ts'
import type { Transfer } from '../outbox/delivery.ts'
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

// One statement and one commit, and no claim: a row that two dispatchers see is copied by the first of them. Every row that was
// seen is answered, copied or not: whoever copied it may have died before it told anyone. No id is drawn before the lock is held,
// because the rows to insert are joined with it.
const COPY_TO_LOG = `
  with locked as materialized (
    select pg_advisory_xact_lock(${COPY_LOCK})
  ), due as materialized (
    select outbox_id, payload from outbox_events
     where status = 'pending' and topic = '${TOPIC}' and next_attempt_at <= statement_timestamp()
     order by next_attempt_at limit $1
  ), copied as (
    insert into events (outbox_id, channel, type, payload)
    select outbox_id, payload->>'channel', payload->>'type', coalesce(payload->'payload', 'null'::json)
      from locked cross join due
     order by outbox_id
        on conflict (outbox_id) do nothing
  )
  select outbox_id, payload->>'channel' as channel from due`

// What is in the log may go: a commit of this that the database forgets is made up for by the next copy.
const DELETE_COPIED = `delete from outbox_events where outbox_id = any($1::bigint[])`
const COPIED_AT_ONCE_MAX = 500

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
  /** How events get from the outbox to the log. */
  transfer: Transfer
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
    transfer: { topic: TOPIC, transfer: () => transfer(database, bus) },
    async deleteOld(hours, limit) {
      return (await database.query(DELETE_OLD, [hours, limit])).length === limit
    },
  }
}

/** Copies to the log, tells subscribers, and only then deletes: whoever dies in between has left the rows for another. */
async function transfer(database: Database, bus: Bus): Promise<{ rows: number; more: boolean }> {
  const copied = await database.hot.query<{ outbox_id: string; channel: string }>(COPY_TO_LOG, [COPIED_AT_ONCE_MAX])
  if (copied.length === 0) return { rows: 0, more: false }
  for (const message of hints(new Set(copied.map(({ channel }) => channel)))) bus.publish(HINTS, message)
  await database.asyncCommit.query(DELETE_COPIED, [copied.map((row) => row.outbox_id)])
  return { rows: copied.length, more: copied.length === COPIED_AT_ONCE_MAX }
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

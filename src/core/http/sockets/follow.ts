// Sends a channel of events to a connection: all since an id, then new ones as they come. An event stays in the log, not in
// memory, until the connection has room, so that a burst does not close a client that reads.
import type { Event, Events } from '../../events/events.ts'
import type { Connection } from './hub.ts'

export interface Following {
  events: Events
  channel: string
  /** The last id that the client has seen. Undefined: from now on. */
  since: number | undefined
  /** Null: the event is not for this client. */
  encode?: (event: Event) => string | null
}

export async function follow(connection: Connection, following: Following): Promise<void> {
  const { events, channel, since, encode = encodeEvent } = following
  const subscription = await events.subscribe(channel, since === undefined ? {} : { since }, async (event) => {
    const message = encode(event)
    if (message !== null && (await connection.room())) connection.send(message)
  })
  connection.onClose(() => subscription.close())
}

const encodeEvent = ({ id, channel, type, payload, at }: Event): string =>
  JSON.stringify({ id, channel, type, payload, at: at.toISOString() })

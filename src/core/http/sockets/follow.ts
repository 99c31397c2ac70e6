// A connection follows a channel of events: all since an id, then the new ones as they come. An event waits in the log,
// not in memory, until its reader has room: a burst is not held against a client that reads.
import type { Event, Events } from '../../events/events.ts'
import type { Connection } from './hub.ts'

export interface Following {
  events: Events
  channel: string
  /** The last id that the client saw. Undefined: from now on. */
  since: number | undefined
  /** Null: not for this client. */
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

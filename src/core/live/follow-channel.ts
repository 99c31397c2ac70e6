import type { Events } from '../events/events.ts'
import type { LiveFollow, LiveOpened } from './topic.ts'

/** Sends a channel of events: all since an id, then new ones as they come. They wait in the log until the client has room. */
export async function followChannel(events: Events, channel: string, follow: LiveFollow): Promise<LiveOpened> {
  const { since, send, room } = follow
  const subscription = await events.subscribe(channel, since === undefined ? {} : { since }, async (event) => {
    if (await room()) send(event.type, { at: event.at.toISOString(), ...objectOf(event.payload) }, event.id)
  })
  return { ok: true, close: () => subscription.close() }
}

const objectOf = (payload: unknown): object =>
  typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : { value: payload }

// The topic `events`: any channel of events, for admins.
import { Type } from 'typebox'
import type { Events } from '../events/events.ts'
import { followChannel } from './follow-channel.ts'
import { liveTopic, type LiveTopic } from './topic.ts'

const Params = Type.Object({ channel: Type.String({ minLength: 1, maxLength: 200 }) }, { additionalProperties: false })

export const eventsTopic = (events: Events): LiveTopic =>
  liveTopic({
    name: 'events',
    roles: ['ADMIN'],
    params: Params,
    open: (follow) => followChannel(events, follow.params.channel, follow),
  })

// The topic `desk` of /live: the desk's events with the task as it is now, for pages that keep a list of tasks current.
import { Type } from 'typebox'
import { liveTopic, type LiveTopic } from '../../../core/live/topic.ts'
import type { Desk } from '../desk.ts'
import { summaryOf } from '../tasks/task-view.ts'
import { CHANNEL, parseStoredEvent } from './events.ts'

export const deskTopic = ({ events, tasks, settings }: Pick<Desk, 'events' | 'tasks' | 'settings'>): LiveTopic =>
  liveTopic({
    name: 'desk',
    roles: ['OPERATOR', 'ADMIN'],
    params: Type.Object({}, { additionalProperties: false }),
    async open({ since, send, room }) {
      const subscription = await events.subscribe(CHANNEL, since === undefined ? {} : { since }, async (event) => {
        const stored = parseStoredEvent(event.payload)
        if (stored === null || !(await room())) return
        const { uuid } = stored.payload
        // Pages that are told at the same time share a read.
        const task = uuid === undefined ? null : await tasks.find(uuid)
        const payload = { at: stored.timestamp, task: task === null ? null : summaryOf(task, settings) }
        send(event.type, payload, event.id)
      })
      return { ok: true, close: () => subscription.close() }
    },
  })

// The names of the desk's keys in Redis.
import type { DeskSettings } from '../settings.ts'
import type { TaskRow } from '../tasks/task.ts'

export interface MirrorKeys {
  queue: string
  events: string
  lock(id: string): string
  session(domain: string): string
}

/** A name that is left at its default follows CAPTCHA_REDIS_PREFIX. */
export function mirrorKeys(settings: DeskSettings): MirrorKeys {
  const prefix = settings.CAPTCHA_REDIS_PREFIX
  const named = (name: string, suffix: string) => (name === `captcha:${suffix}` ? `${prefix}:${suffix}` : name)
  const session = named(settings.CAPTCHA_SESSION_KEY_PREFIX, 'session')
  const task = named(settings.CAPTCHA_TASK_LOCK_KEY_PREFIX, 'task')
  return {
    queue: named(settings.CAPTCHA_QUEUE_KEY, 'queue:pending'),
    events: named(settings.CAPTCHA_EVENTS_CHANNEL, 'events'),
    lock: (id) => `${task}:${id}:lock`,
    session: (domain) => `${session}:${domain}`,
  }
}

/** The most urgent task has the lowest score; of two equally urgent ones, the older. */
export const scoreOf = ({ priority, created_at: createdAt }: Pick<TaskRow, 'priority' | 'created_at'>): number =>
  createdAt.getTime() - priority * 1e13

// Redis, where there is one, shows what the desk has: the contract's keys with their times to live, and its channel of
// events. It is a picture and never the truth: PostgreSQL is, and nothing here is ever read back. Changes are painted by the
// process that made them, after their commit; a loop paints the whole again every minute and whenever Redis comes back.
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { isoNow, type Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/db/database.ts'
import { openConnection, openOutage } from '../../../core/feed/redis/connection.ts'
import { Wake, type Loop } from '../../../core/loop.ts'
import { mirrorKeys, scoreOf } from './mirror-keys.ts'
import { repaint } from './mirror-repaint.ts'
import type { DeskSettings } from '../settings.ts'
import type { TaskRow } from '../tasks/task.ts'

const REPAINT_EVERY_MS = 60_000

export interface Mirror {
  /** False: there is no Redis, and nothing below does anything. */
  isThere: boolean
  /** Never waits and never throws: a picture that could not be painted is painted again later. */
  publish(events: readonly Told[]): void
  waits(task: Pick<TaskRow, 'uuid' | 'priority' | 'created_at' | 'id'>): void
  held(task: Pick<TaskRow, 'uuid' | 'id'>, operator: string, seconds: number): void
  ended(task: Pick<TaskRow, 'uuid' | 'id'>): void
  /** `value` is sealed. */
  cached(domain: string, session: { uuid: string; value: string; ttlSec: number }): void
  forgotten(domain: string): void
  loops: readonly Loop[]
  close(): void
}

type Told = Readonly<{ type: string; payload: object }>

const NO_MIRROR: Mirror = {
  isThere: false,
  publish: () => {},
  waits: () => {},
  held: () => {},
  ended: () => {},
  cached: () => {},
  forgotten: () => {},
  loops: [],
  close: () => {},
}

export interface MirrorDeps {
  redisUrl: string | null
  settings: DeskSettings
  database: Database
  clock: Clock
  log: Logger
}

export function openMirror({ redisUrl, settings, database, clock, log }: MirrorDeps): Mirror {
  if (redisUrl === null) return NO_MIRROR
  const keys = mirrorKeys(settings)
  const redis = openConnection(redisUrl, 'reeve desk', openOutage(log))
  const wake = new Wake()
  redis.on('ready', () => wake.ring())
  const paint = (work: (batch: ReturnType<Redis['pipeline']>) => ReturnType<Redis['pipeline']>) => {
    if (redis.status === 'ready')
      work(redis.pipeline())
        .exec()
        .catch(() => {})
  }

  return {
    isThere: true,
    publish(events) {
      const timestamp = isoNow(clock)
      for (const { type, payload } of events) {
        paint((batch) => batch.publish(keys.events, JSON.stringify({ type, timestamp, payload })))
      }
    },
    waits: (task) => paint((batch) => batch.del(keys.lock(task.id)).zadd(keys.queue, scoreOf(task), task.uuid)),
    held: (task, operator, seconds) =>
      paint((batch) => batch.set(keys.lock(task.id), operator, 'EX', seconds).zrem(keys.queue, task.uuid)),
    ended: (task) => paint((batch) => batch.del(keys.lock(task.id)).zrem(keys.queue, task.uuid)),
    cached: (domain, { uuid, value, ttlSec }) =>
      paint((batch) => batch.set(keys.session(domain), JSON.stringify({ uuid, sealed: value }), 'EX', ttlSec)),
    forgotten: (domain) => paint((batch) => batch.del(keys.session(domain))),
    loops: [
      {
        name: 'paint the desk in Redis',
        everyMs: REPAINT_EVERY_MS,
        wake,
        async runOnce() {
          if (redis.status === 'ready') await repaint(redis, keys, database)
          return false
        },
      },
    ],
    close: () => redis.disconnect(),
  }
}

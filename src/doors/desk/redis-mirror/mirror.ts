// Where there is Redis, it shows what the desk has: keys with their times to live, and a channel of events (docs/desk.md, section
// 10). It is a copy that is never read back: PostgreSQL decides. The process that makes a change shows it after the commit; a loop
// repaints everything once a minute and whenever Redis comes back.
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import type { Database } from '../../../core/db/database.ts'
import { openConnection, openOutage } from '../../../core/feed/redis/connection.ts'
import { Wake, type Loop } from '../../../core/loop.ts'
import { storedEvent, wireEvent, type DeskEvent, type StoredEvent } from '../changes/events.ts'
import type { NewSession } from '../sessions/session-store.ts'
import type { Proxies } from '../domains/proxies.ts'
import type { Sealer } from '../solutions/seal.ts'
import type { DeskSettings } from '../settings.ts'
import type { TaskRow } from '../tasks/task.ts'
import { mirrorKeys, scoreOf, type MirrorKeys } from './mirror-keys.ts'
import { repaint } from './repaint.ts'
import { mirroredSession, plainText, sealedText, type SessionText } from './session-text.ts'

const REPAINT_EVERY_MS = 60_000

type MirroredTask = Pick<TaskRow, 'id' | 'uuid'>

export type MirrorChange =
  | { type: 'pending'; task: MirroredTask & Pick<TaskRow, 'priority' | 'created_at'> }
  | { type: 'locked'; task: MirroredTask; operator: string; lockSec: number }
  /** Failed or ended: neither queued nor locked. */
  | { type: 'removed'; task: MirroredTask }
  | { type: 'session'; session: NewSession }
  | { type: 'no_session'; domain: string }

/** Nothing here waits or throws: what could not be shown is repainted later. */
export interface Mirror {
  /** False: there is no Redis, and the rest does nothing. */
  isThere: boolean
  publish(events: readonly DeskEvent[]): void
  publishStored(type: string, event: StoredEvent): void
  apply(changes: readonly MirrorChange[]): void
  loops: readonly Loop[]
  close(): void
}

const NO_MIRROR: Mirror = {
  isThere: false,
  publish: () => {},
  publishStored: () => {},
  apply: () => {},
  loops: [],
  close: () => {},
}

export interface MirrorParts {
  redisUrl: string | null
  settings: DeskSettings
  database: Database
  sealer: Sealer
  proxies: Proxies
  log: Logger
}

export function openMirror({ redisUrl, settings, database, sealer, proxies, log }: MirrorParts): Mirror {
  if (redisUrl === null) return NO_MIRROR
  const keys = mirrorKeys(settings)
  const sessionText = settings.CAPTCHA_REDIS_SESSIONS === 'plain' ? plainText({ sealer, proxies }) : sealedText
  const redis = openConnection(redisUrl, 'reeve desk', openOutage(log))
  const wake = new Wake()
  redis.on('ready', () => wake.ring())
  const send = (fill: (batch: RedisBatch) => void) => {
    if (redis.status !== 'ready') return
    const batch = redis.pipeline()
    fill(batch)
    batch.exec().catch(() => {})
  }
  const publishStored = (type: string, event: StoredEvent) =>
    send((batch) => batch.publish(keys.events, JSON.stringify(wireEvent(type, event))))

  return {
    isThere: true,
    publish: (events) => events.forEach((event) => publishStored(event.type, storedEvent(event))),
    publishStored,
    apply: (changes) => changes.forEach((change) => send((batch) => show(batch, keys, sessionText, change))),
    loops: [
      {
        name: 'repaint-desk-in-redis',
        everyMs: REPAINT_EVERY_MS,
        wake,
        async runOnce() {
          if (redis.status === 'ready') await repaint(redis, keys, database, sessionText)
          return false
        },
      },
    ],
    close: () => redis.disconnect(),
  }
}

type RedisBatch = ReturnType<Redis['pipeline']>

function show(batch: RedisBatch, keys: MirrorKeys, sessionText: SessionText, change: MirrorChange): void {
  switch (change.type) {
    case 'pending':
      batch.del(keys.lock(change.task.id)).zadd(keys.queue, scoreOf(change.task), change.task.uuid)
      return
    case 'locked':
      batch.set(keys.lock(change.task.id), change.operator, 'EX', change.lockSec).zrem(keys.queue, change.task.uuid)
      return
    case 'removed':
      batch.del(keys.lock(change.task.id)).zrem(keys.queue, change.task.uuid)
      return
    case 'session': {
      const { session } = change
      batch.set(keys.session(session.domain), sessionText(mirroredSession(session)), 'EX', session.ttlSec)
      return
    }
    case 'no_session':
      batch.del(keys.session(change.domain))
  }
}

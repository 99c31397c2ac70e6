// Shows everything at once, for a Redis that was empty, flushed or unreachable.
import type { Redis } from 'ioredis'
import type { Database } from '../../../core/db/database.ts'
import type { SessionText } from './session-text.ts'
import { scoreOf, type MirrorKeys } from './mirror-keys.ts'
import { liveSessions } from '../sessions/session-store.ts'
import { STATUS } from '../tasks/task.ts'

const SELECT_WAITING = `
  select t.uuid, t.priority, t.created_at from captcha_task t
   where t.ended_at is null and ${STATUS} = 'pending' order by t.priority desc, t.id limit $1`
const SELECT_HELD = `
  select t.id, t.assigned_to, ceil(extract(epoch from t.locked_until - clock_timestamp()) * 1000)::integer as left_ms
    from captcha_task t where t.locked_until > clock_timestamp() limit $1`

const ROWS_MAX = 10_000

export async function repaint(
  redis: Redis,
  keys: MirrorKeys,
  database: Database,
  sessionText: SessionText,
): Promise<void> {
  const shown = await redis.zrange(keys.queue, 0, '-1') // read before the database: what is added meanwhile stays
  const waiting = await database.query<{ uuid: string; priority: number; created_at: Date }>(SELECT_WAITING, [ROWS_MAX])
  const held = await database.query<{ id: string; assigned_to: string; left_ms: number }>(SELECT_HELD, [ROWS_MAX])
  const sessions = await liveSessions(database, ROWS_MAX)

  const pending = new Set(waiting.map(({ uuid }) => uuid))
  const gone = shown.filter((uuid) => !pending.has(uuid))
  const batch = redis.pipeline()
  if (gone.length > 0) batch.zrem(keys.queue, ...gone)
  if (waiting.length > 0) batch.zadd(keys.queue, ...waiting.flatMap((task) => [scoreOf(task), task.uuid]))
  for (const { id, assigned_to: operator, left_ms: leftMs } of held) batch.set(keys.lock(id), operator, 'PX', leftMs)
  for (const session of sessions) {
    batch.set(keys.session(session.domain), sessionText(session), 'PXAT', session.expires_at.getTime())
  }
  await batch.exec()
}

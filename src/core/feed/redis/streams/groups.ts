import type { Redis } from 'ioredis'
import { isReply } from '../scripts/script.ts'

/** At `0`: entries from before the first worker are read as well. Resolves to whether a group was missing. */
export async function createGroups(redis: Redis, streams: readonly string[], group: string): Promise<boolean> {
  const created = await Promise.all(
    streams.map(async (key) => {
      try {
        await redis.xgroup('CREATE', key, group, '0', 'MKSTREAM')
        return true
      } catch (error) {
        if (!isReply(error, 'BUSYGROUP')) throw error
        return false
      }
    }),
  )
  return created.includes(true)
}

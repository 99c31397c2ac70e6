import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'

export interface Script {
  lua: string
  sha: string
}

export const script = (lua: string): Script => ({ lua, sha: createHash('sha1').update(lua).digest('hex') })

/** Runs a script by its hash; a Redis that has not seen it yet, or has forgotten it in a restart, is sent the text. */
export async function evaluate(
  redis: Redis,
  { lua, sha }: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(sha, keys.length, ...keys, ...args)
  } catch (error) {
    if (!isReply(error, 'NOSCRIPT')) throw error
    return redis.eval(lua, keys.length, ...keys, ...args)
  }
}

/** Whether Redis answered with this error code. Inside a script's error the code is not at the beginning. */
export const isReply = (error: unknown, code: string): boolean => error instanceof Error && error.message.includes(code)

/** Replies are `unknown` until they were looked at. */
export const listFrom = (reply: unknown): readonly unknown[] => (Array.isArray(reply) ? reply : [])

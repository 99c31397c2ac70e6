// The Lua scripts of this folder. Each is read once, when the program starts, and opens with its keys, arguments and answer.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'

const textOf = (name: string): string => readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8')

function script(...names: string[]): Script {
  const lua = names.map(textOf).join('\n')
  return { lua, sha: createHash('sha1').update(lua).digest('hex') }
}

interface Script {
  lua: string
  sha: string
}

export const ANNOUNCE = script('place', 'announce')
export const READ = script('read')
export const ACKNOWLEDGE = script('acknowledge')
export const BACKLOG = script('backlog')
export const OLDEST_WAITING = script('oldest-waiting')
export const FIND_LOST = script('place', 'find-lost')
export const SWEEP = script('sweep')
export const ACKNOWLEDGE_DUPLICATE = script('place', 'acknowledge-duplicate')
export const TAKE_READY = script('take-ready')
export const MOVE_ENTRIES = script('move-entries')
export const CHECK_PAYLOADS = script('check-payloads')

/** Runs a script by its hash. A Redis that does not know it, or has forgotten it in a restart, is sent the text. */
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

/** Whether Redis answered with this error code. In an error of a script the code is not at the beginning. */
export const isReply = (error: unknown, code: string): boolean => error instanceof Error && error.message.includes(code)

/** Replies are `unknown` until they are parsed. */
export const listFrom = (reply: unknown): readonly unknown[] => (Array.isArray(reply) ? reply : [])

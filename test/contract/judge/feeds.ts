// Both ways in which workers hear of submissions: the database itself, or a Redis of the test's own.
import type { TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { atEnd } from '../../support/cleanup.ts'
import { startRedis } from '../../support/servers.ts'

export const FEEDS = ['PostgreSQL', 'PostgreSQL + Redis'] as const
export type FeedName = (typeof FEEDS)[number]

export async function feedOf(
  t: TestContext,
  name: FeedName,
): Promise<{ env: Record<string, string>; letLie(): Promise<void> }> {
  if (name === 'PostgreSQL') return { env: {}, letLie: async () => {} } // a job whose lease is over is free at once
  const { url, letLie } = await redisFor(t)
  return { env: { REDIS_URL: url }, letLie }
}

export interface TestRedis {
  url: string
  redis: Redis
  /** Of the stream of normal priority: id and fields. */
  entries(): Promise<{ id: string; fields: Record<string, string> }[]>
  /** Entries that were read and not acknowledged, with their consumer. */
  pending(): Promise<{ id: string; consumer: string }[]>
  /** As if whatever was read had been read hours ago. */
  letLie(): Promise<void>
  stop(): Promise<void>
}

export const STREAM = 'deepoj:jobs'
export const GROUP = 'deepoj:workers'

export async function redisFor(t: TestContext, options: { port?: number } = {}): Promise<TestRedis> {
  const server = await startRedis(options)
  atEnd(t, server.stop)
  const redis = new Redis(server.at, { maxRetriesPerRequest: null })
  redis.on('error', () => {})
  atEnd(t, () => redis.disconnect())

  const pending = async () => {
    const rows: unknown = await redis.call('XPENDING', STREAM, GROUP, '-', '+', 1000).catch(() => []) // no group: none
    return Array.isArray(rows) ? rows.map(([id, consumer]) => ({ id: String(id), consumer: String(consumer) })) : []
  }
  return {
    url: server.at,
    redis,
    async entries() {
      const rows = await redis.xrange(STREAM, '-', '+')
      return rows.map(([id, words]) => {
        const pairs = Array.from({ length: words.length / 2 }, (_, n) => [words[2 * n] ?? '', words[2 * n + 1] ?? ''])
        return { id, fields: Object.fromEntries(pairs) }
      })
    },
    pending,
    async letLie() {
      for (const { id, consumer } of await pending())
        await redis.call('XCLAIM', STREAM, GROUP, consumer, 0, id, 'IDLE', 10_000_000, 'JUSTID')
    },
    stop: server.stop,
  }
}

/** The value of a metric with these labels; 0 where it has none yet. */
export async function metric(base: string, name: string): Promise<number> {
  const text = await (await fetch(`${base}/metrics`, { headers: { accept: 'text/plain' } })).text()
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return line === undefined ? 0 : Number(line.slice(name.length + 1))
}

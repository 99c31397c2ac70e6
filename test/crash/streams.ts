// Redis as a test sees and disturbs it: the three streams of one kind.
import type { TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { atEnd } from '../support/cleanup.ts'

const GROUP = 'deepoj:workers'
const ALL = 1_000_000

export interface Streams {
  redis: Redis
  /** What was read stays there until it is acknowledged. */
  keepsWhatWasRead: boolean
  group: string
  /** Where these tests' jobs are. */
  key: string
  /** Jobs whose entry was read and not acknowledged. */
  pendingJobs(): Promise<string[]>
  /** All entries that were ever added and not removed. */
  jobs(): Promise<string[]>
  /** A second entry, as a dispatcher that repeats itself makes one. */
  announceAgain(jobId: string): Promise<unknown>
  /** Makes every entry that was read look as if it had lain for hours. */
  letLie(): Promise<void>
  /** For the message of a failed test. */
  dump(): Promise<unknown>
}

export function openStreams(t: TestContext, url: string, kind: string): Streams {
  const redis = new Redis(url, { maxRetriesPerRequest: null })
  redis.on('error', () => {})
  atEnd(t, () => redis.disconnect())
  const key = `reeve:jobs:${kind}`

  const entries = async () =>
    (await redis.xrange(key, '-', '+')).map(([id, fields]) => ({
      id,
      jobId: fields[fields.indexOf('job_id') + 1] ?? '',
    }))
  const pending = async (): Promise<{ id: string; consumer: string }[]> => {
    const rows: unknown = await redis.call('XPENDING', key, GROUP, '-', '+', ALL).catch(() => []) // no group, none pending
    return Array.isArray(rows) ? rows.map(([id, consumer]) => ({ id: String(id), consumer: String(consumer) })) : []
  }
  return {
    redis,
    keepsWhatWasRead: true,
    group: GROUP,
    key,
    jobs: async () => (await entries()).map(({ jobId }) => jobId),
    async pendingJobs() {
      const jobOf = new Map((await entries()).map(({ id, jobId }) => [id, jobId]))
      return (await pending()).map(({ id }) => jobOf.get(id) ?? `trimmed ${id}`)
    },
    announceAgain: (jobId) =>
      redis.xadd(key, '*', 'job_id', jobId, 'enqueue_ts', '1', 'payload_ref', `task:payload:${jobId}`, 'priority', '5'),
    async letLie() {
      for (const { id, consumer } of await pending()) {
        await redis.call('XCLAIM', key, GROUP, consumer, 0, id, 'IDLE', 10_000_000, 'JUSTID')
      }
    },
    dump: async () => ({ entries: (await entries()).length, pending: (await pending()).slice(0, 5) }),
  }
}

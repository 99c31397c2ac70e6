// The same of the sorted set in which jobs wait that have no stream.
import type { TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { atEnd } from '../support/cleanup.ts'
import type { Streams } from './streams.ts'

export function openReadySet(t: TestContext, url: string, kind: string): Streams {
  const redis = new Redis(url, { maxRetriesPerRequest: null })
  redis.on('error', () => {})
  atEnd(t, () => redis.disconnect())
  const key = `reeve:ready:${kind}`
  const jobs = () => redis.zrange(key, '0', '-1')
  return {
    redis,
    keepsWhatWasRead: false,
    group: '',
    key,
    jobs,
    pendingJobs: async () => [],
    announceAgain: (jobId) => redis.zadd(key, '0', jobId),
    letLie: async () => {},
    dump: async () => ({ jobs: (await jobs()).length }),
  }
}

// Where the entries of a kind are: one stream per level of priority, and a hash that knows where each job's newest entry is.
import type { ReadyJob } from '../../ledger/repair.ts'

/** Highest first. A level is named by its place in this list, from 1, as the Redis scripts count. */
export const LEVELS = [1, 2, 3] as const
export type Level = (typeof LEVELS)[number]

const HIGH_FROM = 8
const LOW_UP_TO = 2
const JUDGE = 'judge'

export interface Streams {
  /** In the order of LEVELS. */
  keys: readonly [high: string, normal: string, low: string]
  /** job id → level and id of its newest entry, for as long as that is not acknowledged. */
  places: string
}

export function streamsOf(kind: string, judgeKey: string): Streams {
  const key = kind === JUDGE ? judgeKey : `reeve:jobs:${kind}`
  return { keys: [`${key}:high`, key, `${key}:low`], places: `${key}:places` }
}

/** What every script is given as its keys. */
export const scriptKeys = ({ keys, places }: Streams): string[] => [...keys, places]

export const keyOf = ({ keys }: Streams, level: Level): string => keys[level === 1 ? 0 : level === 2 ? 1 : 2]

export const levelOf = (priority: number): Level => (priority >= HIGH_FROM ? 1 : priority <= LOW_UP_TO ? 3 : 2)

/** One level of priority is worth `ageingSec` of waiting: what has waited long enough moves up a stream. */
export function agedLevelOf(
  { jobId, priority }: ReadyJob,
  { now, ageingSec }: { now: number; ageingSec: number },
): Level {
  const submittedAt = timeOf(jobId)
  if (submittedAt === null) return levelOf(priority)
  return levelOf(priority + Math.max(0, now - submittedAt) / (ageingSec * 1000))
}

/** Version 7 ids begin with their time, in milliseconds. */
function timeOf(jobId: string): number | null {
  return jobId.charAt(14) === '7' ? Number.parseInt(jobId.slice(0, 8) + jobId.slice(9, 13), 16) : null
}

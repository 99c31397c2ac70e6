// The streams of a kind, one per level of priority, the hash that knows where each job's newest entry is, and entries as they
// are read from a stream.
import { parseJobId } from '../../../ledger/job.ts'
import type { ReadyJob } from '../../../ledger/repair.ts'
import { listFrom } from '../scripts/script.ts'

/** Highest first. A level is a number from 1, as the scripts count. */
export const LEVELS = [1, 2, 3] as const
export type Level = (typeof LEVELS)[number]

const HIGH_FROM = 8
const LOW_UP_TO = 2

export interface Streams {
  /** In the order of LEVELS. */
  keys: readonly [high: string, normal: string, low: string]
  /** Hash: job id → level and id of its newest entry, until that is acknowledged. */
  places: string
}

/** Other programs that write to a stream know the key of normal priority; the others are derived from it. */
export const streamsAt = (key: string): Streams => ({
  keys: [`${key}:high`, key, `${key}:low`],
  places: `${key}:places`,
})

/** The keys of most scripts. */
export const scriptKeys = ({ keys, places }: Streams): string[] => [...keys, places]

export const keyOf = ({ keys }: Streams, level: Level): string => keys[level === 1 ? 0 : level === 2 ? 1 : 2]

export const levelFrom = (value: unknown): Level | undefined => LEVELS.find((level) => level === Number(value))

export const levelOf = (priority: number): Level => (priority >= HIGH_FROM ? 1 : priority <= LOW_UP_TO ? 3 : 2)

/** One level of priority is worth `ageingSec` of waiting: a job that has waited long enough moves up a stream. */
export function agedLevelOf(
  { jobId, priority }: ReadyJob,
  { now, ageingSec }: { now: number; ageingSec: number },
): Level {
  const submittedAt = timeOf(jobId)
  if (submittedAt === null) return levelOf(priority)
  return levelOf(priority + Math.max(0, now - submittedAt) / (ageingSec * 1000))
}

/** A version 7 UUID begins with its time in milliseconds. */
export function timeOf(jobId: string): number | null {
  return jobId.charAt(14) === '7' ? Number.parseInt(jobId.slice(0, 8) + jobId.slice(9, 13), 16) : null
}

export interface Entry {
  level: Level
  id: string
  /** Null: the entry names no job, or not by a valid id. */
  jobId: string | null
  priority: number
  /** Key of the payload in Redis. */
  payloadRef: string
  /** The payload was there, in its usual form, when the entry was read. False: nobody has looked, or it was not. */
  hasPayload: boolean
  /** A required field is missing: other programs may write to the stream as well. */
  isBroken: boolean
  /** Claimed from another consumer, which has left it pending for too long. */
  isReclaimed: boolean
}

const FIELDS = ['job_id', 'enqueue_ts', 'payload_ref', 'priority'] as const

/** From `[id, [name, value, …]]`. A trimmed entry comes without fields and gives null. */
export function entryFrom(reply: unknown, level: Level, isReclaimed: boolean): Entry | null {
  const [id, fields] = listFrom(reply)
  if (typeof id !== 'string' || !Array.isArray(fields)) return null

  const valueOf = new Map<string, string>()
  for (let index = 0; index + 1 < fields.length; index += 2)
    valueOf.set(String(fields[index]), String(fields[index + 1]))
  return {
    level,
    id,
    jobId: parseJobId(valueOf.get('job_id') ?? ''),
    priority: Number(valueOf.get('priority')),
    payloadRef: valueOf.get('payload_ref') ?? '',
    hasPayload: false,
    isBroken: FIELDS.some((name) => (valueOf.get(name) ?? '') === ''),
    isReclaimed,
  }
}

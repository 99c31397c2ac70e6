// An entry as it is read from a stream. What somebody else wrote there is looked at before it is believed.
import { parseJobId } from '../../ledger/job.ts'
import { listFrom } from './script.ts'
import type { Level } from './streams.ts'

export interface Entry {
  level: Level
  id: string
  /** Null: it names no job, or not by a job's id. */
  jobId: string | null
  priority: number
  /** One of the contract's four fields is missing. */
  broken: boolean
  /** Taken over from a consumer that has let it lie. */
  reclaimed: boolean
}

const FIELDS = ['job_id', 'enqueue_ts', 'payload_ref', 'priority'] as const

/** From `[id, [name, value, …]]`. An entry that was trimmed comes without its fields, and is null. */
export function entryFrom(reply: unknown, level: Level, reclaimed: boolean): Entry | null {
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
    broken: FIELDS.some((name) => (valueOf.get(name) ?? '') === ''),
    reclaimed,
  }
}

// Waiting for the end of a job, and telling those who wait.
import type { Bus } from '../events/bus.ts'
import { openHintedWaits, type HintedWaits } from '../events/hinted-waits.ts'
import type { Job } from './job.ts'

const CHANNEL = 'reeve:ended'
const JOB_IDS_PER_MESSAGE = 200 // 37 bytes each; NOTIFY takes 8,000

/** How a job ended. All but `done` leave it dead. */
export type JobEnding = 'done' | 'failed' | 'buried' | 'cancelled'

/** What those who wait for the end of a job are answered with. */
export interface EndReads<Subject, Value> {
  jobIdOf(subject: Subject): string
  read(subject: Subject): Promise<Value>
  /** Whether the job has ended, as this value shows it. */
  isFinal(value: Value): boolean
}

export const isEnded = (job: Job | null): boolean => job === null || job.state === 'done' || job.state === 'dead'

/** `endedOf`: those that are done, dead or deleted. Nothing else of them is read: there may be thousands. */
export const openEndWaits = <Subject, Value>(
  bus: Bus,
  endedOf: (jobIds: readonly string[]) => Promise<string[]>,
  { jobIdOf, read, isFinal }: EndReads<Subject, Value>,
): HintedWaits<Subject, Value> =>
  openHintedWaits({
    bus,
    channel: CHANNEL,
    namesIn: (message) => message.split(','),
    nameOf: jobIdOf,
    read,
    isFinal,
    changedOf: endedOf,
  })

/** Tells everyone who waits, here and in other processes. After the commit. */
export function announceEnds(bus: Bus, jobIds: readonly string[]): void {
  for (let start = 0; start < jobIds.length; start += JOB_IDS_PER_MESSAGE) {
    bus.publish(CHANNEL, jobIds.slice(start, start + JOB_IDS_PER_MESSAGE).join(','))
  }
}

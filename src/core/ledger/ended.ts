// Waiting for the end of a job, and telling those who wait.
import type { Bus } from '../events/bus.ts'
import { openHintedWaits, type FreshWaitLimits } from '../events/hinted-waits.ts'
import type { Loop } from '../loop.ts'
import type { Job } from './job.ts'

const CHANNEL = 'reeve:ended'
const JOB_IDS_PER_MESSAGE = 200 // 37 bytes each; NOTIFY takes 8,000

/** How a job ended. All but `done` leave it dead. */
export type JobEnding = 'done' | 'failed' | 'buried' | 'cancelled'

export interface EndWaits {
  /** Tells everyone who waits, here and in other processes. After the commit. */
  announce(jobIds: readonly string[]): void
  /** The job once it is done or dead, or as it is when the time is up. Null: no such job. */
  wait(jobId: string, limits: FreshWaitLimits): Promise<Job | null>
  loop: Loop
  close(): void
}

interface EndReads {
  read(jobId: string): Promise<Job | null>
  /** Those that are done, dead or deleted. Nothing else of them is read: there may be thousands. */
  endedOf(jobIds: readonly string[]): Promise<string[]>
}

export const isEnded = (job: Job | null): boolean => job === null || job.state === 'done' || job.state === 'dead'

export function openEndWaits(bus: Bus, { read, endedOf }: EndReads): EndWaits {
  const waits = openHintedWaits({
    bus,
    channel: CHANNEL,
    namesIn: (message) => message.split(','),
    nameOf: (jobId: string) => jobId,
    read,
    isFinal: isEnded,
    changedOf: endedOf,
  })
  return {
    announce(jobIds) {
      for (let start = 0; start < jobIds.length; start += JOB_IDS_PER_MESSAGE) {
        bus.publish(CHANNEL, jobIds.slice(start, start + JOB_IDS_PER_MESSAGE).join(','))
      }
    },
    wait: waits.wait,
    loop: waits.loop,
    close: waits.close,
  }
}

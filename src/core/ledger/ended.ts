// Waiting for the end of a job. A hint on the bus says that it has ended; the database says how. Hints may be lost, so
// that it is asked again every few seconds which of all that are waited for have ended: nothing else of them is read, for
// there may be thousands.
import type { Bus } from '../events/bus.ts'
import type { Loop } from '../loop.ts'
import type { Job } from './job.ts'

const CHANNEL = 'reeve:ended'
const JOB_IDS_PER_MESSAGE = 200 // 37 bytes each; NOTIFY takes 8,000
const LOOK_AGAIN_MS = 2000
const LOOK_AT_ONCE = 5000
const WAITING_MAX = 100_000

export interface Ended {
  /** Tells everyone who waits, here and in other processes. After the commit. */
  announce(jobIds: readonly string[]): void
  /** The job once it is done or dead, or as it is when the time is up. Null: no such job. */
  wait(jobId: string, options: { timeoutMs: number; signal?: AbortSignal }): Promise<Job | null>
  loop: Loop
  close(): void
}

export const isEnded = (job: Job | null): boolean => job === null || job.state === 'done' || job.state === 'dead'

export interface EndedReader {
  read(jobId: string): Promise<Job | null>
  /** Those that are done or dead, or gone. */
  endedOf(jobIds: readonly string[]): Promise<string[]>
}

export function openEnded(bus: Bus, { read, endedOf }: EndedReader): Ended {
  const waiting = new Map<string, Set<() => void>>()
  const look = (jobIds: Iterable<string>) => {
    for (const jobId of jobIds) for (const check of waiting.get(jobId) ?? []) check()
  }
  const lookAgain = async () => {
    const jobIds = [...waiting.keys()]
    for (let start = 0; start < jobIds.length; start += LOOK_AT_ONCE) {
      look(await endedOf(jobIds.slice(start, start + LOOK_AT_ONCE)))
    }
  }
  const unsubscribe = bus.subscribe(
    CHANNEL,
    (message) => look(message.split(',')),
    () => void lookAgain().catch(() => {}), // the loop asks again, and says what is wrong
  )

  return {
    announce(jobIds) {
      for (let start = 0; start < jobIds.length; start += JOB_IDS_PER_MESSAGE) {
        bus.publish(CHANNEL, jobIds.slice(start, start + JOB_IDS_PER_MESSAGE).join(','))
      }
    },

    async wait(jobId, { timeoutMs, signal }) {
      if (waiting.size >= WAITING_MAX || signal?.aborted === true) return read(jobId)
      return new Promise((resolve, reject) => {
        const leave = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', giveUp)
          const others = waiting.get(jobId)
          others?.delete(check)
          if (others?.size === 0) waiting.delete(jobId)
        }
        const check = () => {
          read(jobId).then((job) => {
            if (!isEnded(job)) return
            leave()
            resolve(job)
          }, fail)
        }
        const giveUp = () => {
          leave()
          read(jobId).then(resolve, reject)
        }
        const fail = (error: unknown) => {
          leave()
          reject(error)
        }
        const timer = setTimeout(giveUp, timeoutMs)
        signal?.addEventListener('abort', giveUp)
        waiting.set(jobId, (waiting.get(jobId) ?? new Set()).add(check))
        check() // it may have ended before anyone listened
      })
    },

    loop: {
      name: 'look again for jobs that somebody waits for',
      everyMs: LOOK_AGAIN_MS,
      runOnce: async () => {
        await lookAgain()
        return false
      },
    },

    close: unsubscribe,
  }
}

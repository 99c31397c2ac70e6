// Ending and replaying a job from outside an attempt, with the effects of its door.
import type { EndAnswer } from '../ledger/end.ts'
import type { Job } from '../ledger/job.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ReplayAnswer } from '../ledger/submit/replay.ts'
import { refused, type Refused } from '../values/outcome.ts'
import type { Kind } from './kind.ts'

/** The kinds that are known here. Doors add theirs when they open. */
export class Kinds {
  readonly #kinds = new Map<string, Kind>()

  add(kinds: readonly Kind[]): void {
    for (const kind of kinds) this.#kinds.set(kind.name, kind)
  }

  get(name: string): Kind | undefined {
    return this.#kinds.get(name)
  }

  all(): Kind[] {
    return [...this.#kinds.values()]
  }
}

export const cancelJob = (ledger: Ledger, kinds: Kinds, jobId: string, reason: string): Promise<EndAnswer> =>
  end(ledger, kinds, jobId, reason, ledger.cancel)

export const buryJob = (ledger: Ledger, kinds: Kinds, jobId: string, reason: string): Promise<EndAnswer> =>
  end(ledger, kinds, jobId, reason, ledger.bury)

export type ReplayJobAnswer = ReplayAnswer | (Refused<'not_replayable'> & { message: string })

/** Kind and payload never change, so they may be read before the transition. */
export async function replayJob(ledger: Ledger, kinds: Kinds, jobId: string): Promise<ReplayJobAnswer> {
  const job = await ledger.get(jobId)
  if (job === null) return refused('unknown_job')
  const kind = kinds.get(job.kind)
  const message = kind?.refusesReplay?.(job) ?? null
  if (message !== null && job.state === 'dead') return { ...refused('not_replayable'), message }
  return ledger.replay(jobId, (old, newJobId) => kind?.effectsOfReplay?.(old, newJobId) ?? [])
}

/** Kind, payload and account never change, so they may be read before the transition. */
async function end(ledger: Ledger, kinds: Kinds, jobId: string, reason: string, transition: Ledger['cancel']) {
  const job: Job | null = await ledger.get(jobId)
  if (job === null) return refused('unknown_job')
  const kind = kinds.get(job.kind)
  const answer = await transition({ jobId, reason, effects: kind?.effectsOfDeath?.(job, reason) ?? [] })
  if (answer.ok) kind?.onRecorded?.(null)
  return answer
}

// The ledger as one would explain it on a page: jobs in memory, one transition at a time, no clock. A lease is valid until
// the test says that it has expired. The real ledger must give the same answers and come to the same rows.
import type { Held, JobState } from '../../src/core/ledger/job.ts'

export interface ModelJob {
  jobId: string
  state: JobState
  attemptId: number
  releases: number
  maxAttempts: number | null
  priority: number
  /** Seconds: the order of readiness, less what priority is worth. */
  rank: number
  due: 'now' | 'past' | 'future'
  owner: string | null
  leased: boolean
  result: number | null
  reason: string | null
  replayOf: string | null
  /** `what attempt owner detail`, as the history tells it. */
  history: string[]
}

export class Model {
  readonly jobs: ModelJob[] = []
  #steps = 0

  submit(job: Pick<ModelJob, 'jobId' | 'maxAttempts' | 'priority' | 'replayOf'>, delaySec: number): void {
    this.jobs.push({
      ...job,
      state: 'pending',
      attemptId: 0,
      releases: 0,
      rank: this.#rank(job.priority, delaySec),
      due: delaySec === 0 ? 'now' : 'future',
      owner: null,
      leased: false,
      result: null,
      reason: null,
      history: [line('submitted', 0, null, job.replayOf)],
    })
  }

  /** The best job that can be had, fresh or abandoned. */
  next(): ModelJob | undefined {
    return this.jobs
      .filter((job) => (job.state === 'pending' ? job.due === 'now' : isAbandoned(job) && !isExhausted(job)))
      .toSorted((a, b) => a.rank - b.rank)[0]
  }

  acquire(job: ModelJob | undefined, owner: string): string {
    if (job === undefined) return 'unknown_job'
    if (isEnded(job)) return 'already_finished'
    if (job.state === 'pending' && job.due === 'future') return 'not_due'
    if (job.state === 'processing' && job.leased) return 'lease_still_valid'
    if (job.state === 'processing' && isExhausted(job)) return 'exhausted'
    if (job.state === 'processing') job.history.push(line('lease_expired', job.attemptId, job.owner, null))
    job.attemptId += 1
    Object.assign(job, { state: 'processing', owner, leased: true, due: 'now' })
    job.history.push(line('acquired', job.attemptId, owner, null))
    return `attempt ${job.attemptId}`
  }

  renew(job: ModelJob | undefined, held: Held): string {
    return refusal(job, held) ?? 'ok'
  }

  finalize(job: ModelJob | undefined, held: Held, result: number): string {
    const refused = refusal(job, held)
    if (refused !== null || job === undefined) return refused ?? ''
    end(job, 'done', null)
    job.result = result
    return 'ok'
  }

  fail(job: ModelJob | undefined, held: Held, retrySec: number | null): string {
    const refused = refusal(job, held)
    if (refused !== null || job === undefined) return refused ?? ''
    job.history.push(line('failed', job.attemptId, job.owner, 'error'))
    job.rank = this.#rank(job.priority, retrySec ?? 0)
    if (retrySec === null || isExhausted(job)) {
      end(job, 'dead', 'error')
      return 'dead'
    }
    Object.assign(job, { state: 'pending', leased: false, due: retrySec === 0 ? 'past' : 'future' })
    return 'ok'
  }

  release(job: ModelJob | undefined, held: Held): string {
    const refused = refusal(job, held)
    if (refused !== null || job === undefined) return refused ?? ''
    job.history.push(line('released', job.attemptId, job.owner, null))
    Object.assign(job, { state: 'pending', leased: false, releases: job.releases + 1 })
    return 'ok'
  }

  end(job: ModelJob | undefined, move: 'cancel' | 'bury'): string {
    if (job === undefined) return 'unknown_job'
    if (isEnded(job)) return 'already_finished'
    if (move === 'bury' && job.leased) return 'lease_still_valid'
    if (job.state === 'processing' && !job.leased) {
      job.history.push(line('lease_expired', job.attemptId, job.owner, null))
    }
    end(job, 'dead', move)
    return 'ok'
  }

  #rank(priority: number, delaySec: number): number {
    this.#steps += 1
    return this.#steps / 1e6 + delaySec - priority * 60
  }
}

export const line = (what: string, attemptId: number, owner: string | null, detail: string | null): string =>
  [what, attemptId, owner ?? '-', detail ?? '-'].join(' ')

export const isEnded = (job: ModelJob): boolean => job.state === 'done' || job.state === 'dead'

const isAbandoned = (job: ModelJob): boolean => job.state === 'processing' && !job.leased

const isExhausted = (job: ModelJob): boolean =>
  job.maxAttempts !== null && job.attemptId - job.releases >= job.maxAttempts

function end(job: ModelJob, state: 'done' | 'dead', reason: string | null): void {
  Object.assign(job, { state, reason, leased: false, due: 'now' })
  job.history.push(line(state, job.attemptId, job.owner, reason))
}

/** In the contract's order. */
function refusal(job: ModelJob | undefined, held: Held): string | null {
  if (job === undefined) return 'unknown_job'
  if (job.attemptId > held.attemptId) return 'stale_attempt'
  if (isEnded(job)) return 'already_finished'
  if (job.state !== 'processing') return 'not_in_expected_state'
  const isHolder = job.attemptId === held.attemptId && job.owner === held.owner && job.leased
  return isHolder ? null : 'lease_lost_or_owner_mismatch'
}

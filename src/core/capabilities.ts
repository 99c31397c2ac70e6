// What one door does for another. Doors do not import each other: one that can do something offers it here when it opens,
// and one that needs it looks it up when it needs it. The work itself is a job of the ledger like any other, so that both
// sides survive a crash: the asker names its request by a key, remembers the job, and reads its outcome once it has ended.
import assert from 'node:assert/strict'
import type { Job } from './ledger/job.ts'

export interface WorkRequest {
  /** The same key names the same job, however often it is asked: whoever asks may die before it has written down the answer. */
  key: string
  /** What is to be done, as a stranger wrote it. */
  body: Readonly<Record<string, unknown>>
  traceId: string | null
  /** By the database's clock. Afterwards nobody wants the outcome any more. */
  wantedUntil: Date
}

export type Begun =
  | { ok: true; jobId: string }
  /** `message` is for whoever wrote the request. It is final: the same request is not tried again. */
  | { ok: false; code: 'INVALID_PROBLEM' | 'SOLVER_UNAVAILABLE'; message: string }

export type WorkOutcome =
  | { ok: true; answer: string; metadata?: Readonly<Record<string, unknown>> }
  /** `code` in capitals with underscores, for programs; `message` for people. Neither holds a secret. */
  | { ok: false; code: string; message: string }

export interface Capability {
  begin(request: WorkRequest): Promise<Begun>
  /** What came of a job that `begin` named. Called once it is done or dead. */
  outcomeOf(job: Job): Promise<WorkOutcome>
  /** Nobody wants it any more. It may have ended already. */
  withdraw(jobId: string, reason: string): Promise<void>
}

export class Capabilities {
  readonly #offers = new Map<string, Capability>()

  /** Names are shared by all doors: `captcha`, `code`. */
  provide(name: string, offer: Capability): void {
    assert(!this.#offers.has(name), `${name} is offered twice`)
    this.#offers.set(name, offer)
  }

  /** Not before all doors are open. Null: nobody here does that. */
  find(name: string): Capability | null {
    return this.#offers.get(name) ?? null
  }
}

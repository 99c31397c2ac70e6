// What one door does for another. Doors do not import each other: a door provides a capability when it opens, and another
// looks it up when it needs it. The work itself is a job of the ledger, so both sides survive a crash: the caller names its
// request by a key, remembers the job, and reads its outcome once it has ended.
import assert from 'node:assert/strict'
import type { Job } from './ledger/job.ts'
import type { TraceContext } from './traces/context.ts'

export interface WorkRequest {
  /** The same key names the same job on every call: the caller may crash before it has stored the answer. */
  key: string
  /** The job that asks, and waits for the end of the one that is begun. */
  askedBy: string
  /** The request, as an untrusted client wrote it. */
  body: Readonly<Record<string, unknown>>
  trace: TraceContext | null
  /** By the database's clock. The outcome is of no use afterwards. */
  wantedUntil: Date
}

export type Begun =
  | { ok: true; jobId: string }
  /** `message` is for the author of the request. The refusal is final. */
  | { ok: false; code: 'INVALID_PROBLEM' | 'SOLVER_UNAVAILABLE'; message: string }

export type WorkOutcome =
  | { ok: true; answer: string; metadata?: Readonly<Record<string, unknown>> }
  /** `code` in capitals with underscores, for programs; `message` for people. Neither holds a secret. */
  | { ok: false; code: string; message: string }

export interface Capability {
  begin(request: WorkRequest): Promise<Begun>
  /** The outcome of a job that `begin` named. Called once it is done or dead. */
  outcomeOf(job: Job): Promise<WorkOutcome>
  /** The caller no longer needs the job. It may have ended already. */
  withdraw(jobId: string, reason: string): Promise<void>
}

export class Capabilities {
  readonly #byName = new Map<string, Capability>()

  /** Names are shared by all doors: `captcha`, `code`. */
  provide(name: string, capability: Capability): void {
    assert(!this.#byName.has(name), `${name} is provided twice`)
    this.#byName.set(name, capability)
  }

  /** Call only after all doors are open. Null: no door provides it. */
  find(name: string): Capability | null {
    return this.#byName.get(name) ?? null
  }
}

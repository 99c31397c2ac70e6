// conclude: an acquire and a finalize in one transaction, for a job that others have decided, such as the replicas of a job of the
// pool. Each has its own conditions: a job that somebody holds is refused.
import type { Pool } from '../db/database.ts'
import { ok, type Ok, type Refused } from '../values/outcome.ts'
import { acquireOn, type AcquireRefusal } from './acquire.ts'
import { sendEffects, type WithEffects } from './effects.ts'
import { finalizeOn } from './finalize.ts'

export interface ConcludeRequest extends WithEffects {
  jobId: string
  owner: string
  result: unknown
}

export type ConcludeAnswer = Ok | Refused<AcquireRefusal>

const LEASE_MS = 60_000 // longer than the transaction can take

/** No job may be named twice in one call. */
export const conclude = (pool: Pool, requests: readonly ConcludeRequest[]): Promise<ConcludeAnswer[]> =>
  pool.transaction(async (tx) => {
    const acquired = await acquireOn(
      tx,
      requests.map(({ jobId, owner }) => ({ jobId, owner, leaseMs: LEASE_MS })),
    )
    const held = requests.flatMap((request, index) => {
      const answer = acquired[index]
      return answer?.ok === true ? [{ result: request.result, effects: request.effects ?? [], ...answer.job }] : []
    })
    const finalized = held.length === 0 ? [] : await finalizeOn(tx, held)
    if (finalized.some((answer) => !answer.ok)) throw new Error('A job was lost in the transaction that acquired it.')
    sendEffects(
      tx,
      held.flatMap(({ effects }) => effects),
    )
    return acquired.map((answer) => (answer.ok ? ok : answer))
  })

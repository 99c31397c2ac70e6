// An operator ends a task: the solution, or the word that there is none, is the result of its job. What the desk keeps of it commits
// with that (changes/end-changes.ts).
import type { Held } from '../../../core/ledger/job.ts'
import { solved, unsolvable } from '../changes/end-changes.ts'
import type { DeskChange } from '../changes/change.ts'
import type { Desk } from '../desk.ts'
import { claim, currentHolder, holderOf, take, type LockParts, type LockRefusal } from '../locks/lock.ts'
import { sealSession, type NewSession } from '../sessions/session-store.ts'
import type { TaskRow } from '../tasks/task.ts'
import type { SealedSolution } from './open-solution.ts'
import type { ParsedSolution } from './solution.ts'

/** The lock that ends a task which nobody has claimed: long enough to record a solution that is already there. */
const LOCK_TO_END_SEC = 60

export type EndParts = LockParts & Pick<Desk, 'sealer'>

export type EndTaskAnswer =
  | { ok: true }
  | LockRefusal
  /** The operator's own lock ran out or was taken away: claim the task again first. */
  | { ok: false; code: 'lapsed' }

export async function solve(
  parts: EndParts,
  task: TaskRow,
  by: { operator: string | null; ip: string },
  { type, payload, cookies, userAgent, notes, expiresAt, sessionTtlSec }: ParsedSolution,
): Promise<EndTaskAnswer> {
  const session: NewSession | null =
    sessionTtlSec === null
      ? null
      : {
          accountId: Number(task.account_id),
          domain: task.domain,
          uuid: task.uuid,
          value: sealSession(parts.sealer, task.uuid, { cookies, data: type === 'session' ? payload : null }),
          userAgent: userAgent ?? task.user_agent,
          proxyId: task.proxy_id,
          proxyShown: task.proxy_shown,
          ttlSec: sessionTtlSec,
          createdAt: task.now,
        }
  const sealed: SealedSolution = { type, payload, cookies: [...cookies], user_agent: userAgent, notes, ip: by.ip }
  const solverResult = parts.sealer.seal(`solution:${task.uuid}`, sealed)
  return finish(parts, task, by.operator, {
    result: { outcome: 'solved', type },
    changeBy: (holder) => solved(task, { operator: holder, solverResult, expiresAt, session }),
  })
}

export const markUnsolvable = (parts: EndParts, task: TaskRow, operator: string | null, reason: string) =>
  finish(parts, task, operator, {
    result: { outcome: 'unsolvable' },
    changeBy: (holder) => unsolvable(task, holder, reason),
  })

interface TaskEnding {
  result: object
  changeBy(holder: string): DeskChange
}

async function finish(
  parts: EndParts,
  task: TaskRow,
  operator: string | null,
  { result, changeBy }: TaskEnding,
): Promise<EndTaskAnswer> {
  const lock = await lockToEnd(parts, task, operator)
  if (!lock.ok) return lock
  const change = changeBy(lock.held.owner)
  const answer = await parts.ledger.finalize({ result, effects: parts.changes.effects(change), ...lock.held })
  if (!answer.ok) return refusalNow(parts, task)
  parts.changes.committed(change)
  return { ok: true }
}

/** The operator's own lock, or that of a task which nobody has claimed. */
async function lockToEnd(
  parts: LockParts,
  task: TaskRow,
  operator: string | null,
): Promise<{ ok: true; held: Held } | Exclude<EndTaskAnswer, { ok: true }>> {
  const holder = await holderOf(parts, task)
  if (holder === 'ended') return { ok: false, code: 'ended' }
  if (holder !== null && (operator === null || holder.held.owner === operator)) return { ok: true, held: holder.held }
  if (holder === null && operator !== null && task.lapsed_from === operator) return { ok: false, code: 'lapsed' }
  const request = { operator: operator ?? 'anonymous', lockSec: LOCK_TO_END_SEC, steals: false }
  return (holder === null ? await take(parts, task, request) : null) ?? claim(parts, task, request)
}

async function refusalNow(parts: LockParts, task: TaskRow): Promise<EndTaskAnswer> {
  const holder = await currentHolder(parts, task)
  if (holder === 'ended') return { ok: false, code: 'ended' }
  if (holder === null) return { ok: false, code: 'lapsed' }
  return { ok: false, code: 'held', holder: holder.held.owner, until: holder.until }
}

// 409: why a task cannot be had now (docs/desk.md, section 4).
import { Type } from 'typebox'
import type { TaskRow } from '../tasks/task.ts'
import type { LockRefusal } from './lock.ts'

export const LockedBody = Type.Object({
  detail: Type.Union([
    Type.Object({
      message: Type.String(),
      assigned_to: Type.Union([Type.String(), Type.Null()]),
      locked_until: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    }),
    Type.String(),
  ]),
})

const lockedBody = (message: string, holder: string | null = null, until: Date | null = null) => ({
  detail: { message, assigned_to: holder, locked_until: until?.toISOString() ?? null },
})

export function refusalBody(refusal: LockRefusal | { ok: false; code: 'lapsed' }, task: TaskRow) {
  switch (refusal.code) {
    case 'ended':
      return lockedBody(`Task is ${task.status}`, task.assigned_to)
    case 'lapsed':
      return lockedBody('You have lost the lock: claim the task again')
    case 'held':
      return lockedBody('Task is locked by another operator', refusal.holder, refusal.until)
  }
}

/** For somebody who does not hold it. */
export function notHeldBody(task: TaskRow, operator: string | null) {
  const { assigned_to: holder, locked_until: until, status } = task
  if (until !== null && holder !== operator)
    return refusalBody({ ok: false, code: 'held', holder: holder ?? '', until }, task)
  if (task.ended_at !== null) return refusalBody({ ok: false, code: 'ended' }, task)
  return lockedBody(`Task is ${status}: claim it first`)
}

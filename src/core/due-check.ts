// Most loops find nothing to do most of the time. In place of a statement for each of them, one statement a second asks for all
// of them whether something is due, and wakes those for which there is. So an idle server costs one statement a second however
// many loops it has, and a loop is as late as if it had asked by itself.
//
// The statement reads many tables. While one of them is locked (`vacuum full`, a migration) it gives no answer, and every loop asks
// by itself: only those that need the table wait for it.
import { Waiter } from './concurrency/waiter.ts'
import type { Queryable } from './db/database.ts'
import { PAUSE_GRID_MS, Wake, type Loop } from './loop.ts'

const CHECK_EVERY_MS = 1000
/** A loop with an `isDue` also passes by itself once in a while: a wrong answer costs time, never work. */
const UNASKED_EVERY_MS = 60_000
/** Not all of them at once: each would need a connection. */
const APART_MS = 1000
const ANSWER_WITHIN_MS = 2000
/** A check may come so much early. */
const EARLY_MS = PAUSE_GRID_MS + 50

export interface DueCheck {
  /** The loops to run in their place: those with an `isDue` pass when the check says so. */
  over(loops: readonly Loop[]): Loop[]
  loop: Loop
}

interface CheckedLoop {
  isDue: string
  everyMs: number
  wake: Wake
  passedAt: number
}

export function openDueCheck(on: Queryable): DueCheck {
  const checked: CheckedLoop[] = []
  let sql = ''
  let asked: Promise<boolean[] | null> | null = null

  const add = (loop: Loop, isDue: string): Loop => {
    const own: CheckedLoop = { isDue, everyMs: loop.everyMs, wake: loop.wake ?? new Wake(), passedAt: -Infinity }
    checked.push(own)
    return {
      ...loop,
      wake: own.wake,
      everyMs: Math.max(loop.everyMs, UNASKED_EVERY_MS + checked.length * APART_MS),
      async runOnce(signal) {
        try {
          return await loop.runOnce(signal)
        } finally {
          own.passedAt = performance.now()
        }
      },
    }
  }
  const wakeWhere = (isDue: (index: number) => boolean) => {
    const now = performance.now()
    for (const [index, { everyMs, wake, passedAt }] of checked.entries()) {
      if (isDue(index) && now - passedAt >= everyMs - EARLY_MS) wake.ring()
    }
  }

  /** Null: no answer in time. Until it comes, nothing more is asked. */
  const ask = (signal: AbortSignal): Promise<boolean[] | null> => {
    asked ??= on
      .query<{ due: boolean[] }>(sql)
      .then(([row]) => row?.due ?? [])
      .finally(() => (asked = null))
    const waiter = new Waiter<boolean[] | null>({ timeoutMs: ANSWER_WITHIN_MS, signal, onTimeout: () => null })
    asked.then(
      (due) => waiter.resolve(due),
      (error: unknown) => waiter.reject(error),
    )
    return waiter.answer
  }

  return {
    over(loops) {
      const watched = loops.map((loop) => (loop.isDue === undefined ? loop : add(loop, loop.isDue)))
      sql = `select array[${checked.map(({ isDue }) => `(${isDue})`).join(', ')}]::boolean[] as due`
      return watched
    },
    loop: {
      name: 'check-what-is-due',
      everyMs: CHECK_EVERY_MS,
      async runOnce(signal) {
        if (checked.length === 0) return false
        try {
          const due = await ask(signal)
          wakeWhere((index) => due === null || due[index] === true)
        } catch (error) {
          wakeWhere(() => true) // they ask by themselves
          throw error
        }
        return false
      },
    },
  }
}

// The thread that threads.ts starts: performs one task at a time and answers each.
import { parentPort } from 'node:worker_threads'
import { UnsolvableProblem, type UnsolvableCode } from '../problems/solution.ts'
import { perform, type Task, type TaskValue } from './task.ts'

export type Performed =
  | { ok: true; value: TaskValue }
  | { ok: false; code: UnsolvableCode | 'INTERNAL'; message: string }

parentPort?.on('message', (task: Task) => {
  parentPort?.postMessage(answerTo(task), [])
})

parentPort?.postMessage({ ok: true, value: 'ready' } satisfies Performed, [])

function answerTo(task: Task): Performed {
  try {
    return { ok: true, value: perform(task) }
  } catch (error) {
    if (error instanceof UnsolvableProblem) return { ok: false, code: error.code, message: error.message }
    if (error instanceof RangeError)
      return { ok: false, code: 'TOO_LARGE', message: 'The problem is too large or too deeply nested.' }
    return { ok: false, code: 'INTERNAL', message: error instanceof Error ? error.message : 'failed' }
  }
}

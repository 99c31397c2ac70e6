/** What a Challenger may ask of the time: milliseconds for the solving itself, and a moment (Unix seconds) after which no
 * answer is wanted. */
export interface Constraints {
  timeout_ms?: number
  deadline_ts?: number
}

const isPositive = (value: unknown): value is number => typeof value === 'number' && value > 0

/** Null: not what it should be. What we do not know is the business of whoever wrote it. */
export function constraintsOf(value: unknown): Constraints | null {
  if (value === undefined || value === null) return {}
  if (!isObject(value)) return null
  const { timeout_ms: timeoutMs, deadline_ts: deadlineTs } = value
  if (timeoutMs !== undefined && timeoutMs !== null && !isPositive(timeoutMs)) return null
  if (deadlineTs !== undefined && deadlineTs !== null && !isPositive(deadlineTs)) return null
  return {
    ...(isPositive(timeoutMs) ? { timeout_ms: timeoutMs } : {}),
    ...(isPositive(deadlineTs) ? { deadline_ts: deadlineTs } : {}),
  }
}
import { isObject } from '../../../core/is-object.ts'

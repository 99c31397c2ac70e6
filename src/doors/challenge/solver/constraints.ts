/** Time limits that a Challenger sets: milliseconds for solving, and a deadline in Unix seconds. */
export interface Constraints {
  timeout_ms?: number
  deadline_ts?: number
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== 0
const isPositive = (value: unknown): value is number => typeof value === 'number' && value > 0

/** Null: invalid. Null and 0 mean "not set"; unknown members are ignored. */
export function constraintsOf(value: unknown): Constraints | null {
  if (value === undefined || value === null) return {}
  if (!isObject(value)) return null
  const { timeout_ms: timeoutMs, deadline_ts: deadlineTs } = value
  if (isSet(timeoutMs) && !isPositive(timeoutMs)) return null
  if (isSet(deadlineTs) && !isPositive(deadlineTs)) return null
  return {
    ...(isPositive(timeoutMs) ? { timeout_ms: timeoutMs } : {}),
    ...(isPositive(deadlineTs) ? { deadline_ts: deadlineTs } : {}),
  }
}
import { isObject } from '../../../core/values/is-object.ts'

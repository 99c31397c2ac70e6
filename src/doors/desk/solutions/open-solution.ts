// A solution is opened for its creator, for a reveal that leaves a line in the trail, and for nobody else.
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { Unsealable, type Sealer } from './seal.ts'
import type { Solution } from './solution.ts'
import type { WholeTaskRow } from '../tasks/task.ts'

export interface OpenedSolution extends Solution {
  cfClearance: string | null
}

/** Null: there is none, or it has been thrown away. */
export function openSolution(sealer: Sealer, task: WholeTaskRow): OpenedSolution | null {
  if (task.solver_result === null) return null
  const opened = opening(() => sealer.open(`solution:${task.uuid}`, task.solver_result ?? ''))
  if (!isSolution(opened)) throw new Error('A sealed solution is not one.')
  return { ...opened, cfClearance: cfClearanceOf(opened.payload) }
}

/** The key of a sealed value may be missing at this server. */
export function opening<T>(open: () => T): T {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof Unsealable)) throw error
    throw new HttpError(503, 'unavailable', 'This server does not have the key that opens it.')
  }
}

const isSolution = (value: unknown): value is Solution =>
  typeof value === 'object' && value !== null && 'type' in value && 'payload' in value

function cfClearanceOf(payload: unknown): string | null {
  if (!Array.isArray(payload)) return null
  const cookie: unknown = payload.find(
    (one: unknown) => typeof one === 'object' && one !== null && 'name' in one && one.name === 'cf_clearance',
  )
  return typeof cookie === 'object' && cookie !== null && 'value' in cookie ? String(cookie.value) : null
}

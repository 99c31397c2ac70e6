// A solution is opened for its creator, and for a reveal that the audit trail records.
import { Type, type Static } from 'typebox'
import { Parse } from 'typebox/value'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import type { WholeTaskRow } from '../tasks/task.ts'
import { CookieItem } from './cookie.ts'
import { Unsealable, type Sealer } from './seal.ts'

/** As it is sealed. */
const SealedSolution = Type.Object({
  type: Type.Enum(['cookie', 'token', 'session', 'answer']),
  payload: Type.Unknown(),
  cookies: Type.Array(CookieItem),
  user_agent: Type.Union([Type.String(), Type.Null()]),
  notes: Type.Union([Type.String(), Type.Null()]),
  /** The address that it was submitted from. */
  ip: Type.Union([Type.String(), Type.Null()]),
})
export type SealedSolution = Static<typeof SealedSolution>

/** Null: there is none, or it has been deleted. */
export function openSolution(sealer: Sealer, { uuid, solver_result: sealed }: WholeTaskRow): SealedSolution | null {
  return sealed === null
    ? null
    : Parse(
        SealedSolution,
        opening(() => sealer.open(`solution:${uuid}`, sealed)),
      )
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

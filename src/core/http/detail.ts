// The error body of the pool, the desk and everything that belongs to all doors: {"detail": …}, as FastAPI words it.
import { Type } from 'typebox'
import type { Problem } from './problem.ts'

export const detailBody = (problem: Problem): object =>
  problem.fields === undefined
    ? { detail: problem.message }
    : { detail: problem.fields.map(({ path, message, rule }) => ({ type: rule, loc: path, msg: message })) }

export const Detail = Type.Object({ detail: Type.String() }, { description: 'What went wrong.' })

export const DetailList = Type.Object(
  {
    detail: Type.Union([
      Type.String(),
      Type.Array(Type.Object({ type: Type.String(), loc: Type.Array(Type.String()), msg: Type.String() })),
    ]),
  },
  { description: 'Which fields are wrong, and how.' },
)

/** For the documentation of a route: each status with the body that it has. */
export const refusals = <Status extends number>(...statuses: Status[]): Record<Status, typeof Detail | typeof DetailList> => {
  const entries = statuses.map((status) => [status, status === 422 ? DetailList : Detail] as const)
  const bodies: Partial<Record<Status, typeof Detail | typeof DetailList>> = Object.fromEntries(entries)
  if (!isComplete(statuses, bodies)) throw new Error('A status has no body.')
  return bodies
}

const isComplete = <Status extends number, Body>(
  statuses: readonly Status[],
  bodies: Partial<Record<Status, Body>>,
): bodies is Record<Status, Body> => statuses.every((status) => bodies[status] !== undefined)

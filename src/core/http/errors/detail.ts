// The error body of the pool, the desk and everything that belongs to all doors: {"detail": …}, as FastAPI words it.
import { Type } from 'typebox'
import type { ErrorReport } from './http-error.ts'

export const detailBody = (problem: ErrorReport): object =>
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

type Body = typeof Detail | typeof DetailList

/** For the documentation of a route: each status with the body that it has. */
export function refusals<Status extends number>(...statuses: readonly Status[]): Record<Status, Body> {
  const bodies = Object.fromEntries(statuses.map((status) => [status, status === 422 ? DetailList : Detail]))
  if (!coversAll(statuses, bodies)) throw new Error('A status has no body.')
  return bodies
}

const coversAll = <Status extends number>(
  statuses: readonly Status[],
  bodies: object,
): bodies is Record<Status, Body> => statuses.every((status) => status in bodies)

// The error body {"detail": …} of FastAPI, for everything that belongs to no door and for the doors that choose it.
import { Type } from 'typebox'
import type { ErrorReport } from './http-error.ts'

export const detailBody = ({ message: detail, fields }: ErrorReport): object =>
  fields === undefined
    ? { detail }
    : { detail: fields.map(({ path, message, rule }) => ({ type: rule, loc: path, msg: message })) }

const Detail = Type.Object({ detail: Type.String() }, { description: 'The reason.' })

const DetailList = Type.Object(
  {
    detail: Type.Union([
      Type.String(),
      Type.Array(Type.Object({ type: Type.String(), loc: Type.Array(Type.String()), msg: Type.String() })),
    ]),
  },
  { description: 'The invalid fields and the reasons.' },
)

type Body = typeof Detail | typeof DetailList

/** Response schemas for the OpenAPI description of a route: each status with its body. */
export function refusals<Status extends number>(...statuses: readonly Status[]): Record<Status, Body> {
  const bodies = Object.fromEntries(statuses.map((status) => [status, status === 422 ? DetailList : Detail]))
  if (!coversAll(statuses, bodies)) throw new Error('A status has no body.')
  return bodies
}

const coversAll = <Status extends number>(
  statuses: readonly Status[],
  bodies: object,
): bodies is Record<Status, Body> => statuses.every((status) => status in bodies)

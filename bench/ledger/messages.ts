// What the benchmark and its worker process say to each other.

import { Type, type Static } from 'typebox'

/** To the worker. `expect` may come before or after the jobs of its round have been handled. */
export const Order = Type.Union([
  Type.Object({ type: Type.Literal('start') }),
  Type.Object({ type: Type.Literal('expect'), round: Type.Integer(), count: Type.Integer() }),
  Type.Object({ type: Type.Literal('stop') }),
])
export type Order = Static<typeof Order>

/** From the worker. `handled` answers `expect`, once every job of the round has been handled. */
export const Report = Type.Union([
  Type.Object({ type: Type.Literal('loaded') }),
  Type.Object({ type: Type.Literal('started') }),
  Type.Object({
    type: Type.Literal('handled'),
    round: Type.Integer(),
    firstUs: Type.Number(),
    /** How often a job was handled again. Allowed by every contestant's promise; shown, because it is work. */
    repeats: Type.Integer(),
  }),
])
export type Report = Static<typeof Report>
export type Handled = Extract<Report, { type: 'handled' }>

// Between the benchmark and the process that makes the load.

import { Type, type Static } from 'typebox'

export const Order = Type.Union([
  Type.Object({ type: Type.Literal('add'), sessions: Type.Integer() }),
  Type.Object({ type: Type.Literal('measure'), ms: Type.Integer() }),
])
export type Order = Static<typeof Order>

export const Report = Type.Union([
  Type.Object({ type: Type.Literal('added'), sessions: Type.Integer() }),
  Type.Object({
    type: Type.Literal('measured'),
    /** Of states that came late, by the client's clock. */
    p50: Type.Number(),
    p99: Type.Number(),
    max: Type.Number(),
    statesPerSocket: Type.Number(),
    lost: Type.Integer(),
  }),
])
export type Report = Static<typeof Report>
export type Measured = Extract<Report, { type: 'measured' }>

/** What a load process is told when it is started. */
export const LoadOptions = Type.Object({
  game: Type.Union([Type.Literal('reeve'), Type.Literal('colyseus')]),
  host: Type.String(),
  port: Type.Integer(),
  /** Of the first player; the next ones count on. */
  firstPlayer: Type.Integer(),
})
export type LoadOptions = Static<typeof LoadOptions>

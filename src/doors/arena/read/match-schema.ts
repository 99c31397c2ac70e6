import { Type } from 'typebox'
import { Success } from '../../../core/http/errors/envelope.ts'

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

const Player = Type.Object({
  userId: Type.Integer(),
  username: Type.String(),
  position: orNull(Type.Integer()),
  ratingBefore: orNull(Type.Number()),
  ratingAfter: orNull(Type.Number()),
})

const Match = Type.Object({
  matchId: Type.String(),
  mode: Type.String(),
  reason: Type.Enum(['completed', 'resigned', 'void']),
  result: orNull(Type.Object({ winnerUserId: orNull(Type.Integer()), ticks: Type.Integer() })),
  ticks: Type.Integer(),
  tickIntervalMs: Type.Integer(),
  players: Type.Array(Player),
  createdAt: Type.String({ format: 'date-time' }),
  finishedAt: Type.String({ format: 'date-time' }),
})

export const MatchView = Success(
  Type.Object({
    ...Match.properties,
    replay: Type.Object({
      format: Type.String(),
      inputs: Type.String({ description: 'Packed, in base64.' }),
      kept: Type.Boolean({ description: 'False: the inputs are no longer kept (REPLAYS_KEPT_DAYS).' }),
    }),
  }),
)

export const MatchPage = Success(
  Type.Object({
    userId: Type.Integer(),
    matches: Type.Array(Match),
    nextBefore: Type.Union([Type.String(), Type.Null()], { description: '`before` of the next page; null: the last.' }),
  }),
)

export const Live = Success(
  Type.Object({
    matches: Type.Array(
      Type.Object({
        matchId: Type.String(),
        mode: Type.String(),
        participants: Type.Array(Type.Object({ userId: Type.Integer(), username: Type.String() })),
        tick: Type.Integer(),
        ticks: Type.Integer(),
        createdAt: Type.String({ format: 'date-time' }),
      }),
    ),
  }),
)

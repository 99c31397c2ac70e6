// What commits with the end of a match: its result, both ratings, and the release of both seats. A void match has a result
// too, so that it ends once, and changes no rating.
import type { Side } from '@reeve/sdk/arena-replay'
import type { Effect } from '../../../core/ledger/effects.ts'
import { isRated, type Match, type Rating } from '../match.ts'
import { ratingAfter, scoreOf } from './rating.ts'

const INSERT_RESULT = `
  insert into match_results (match_id, mode, user_a, user_b, reason, winner_user_id, ticks, tick_interval_ms, position_a,
         position_b, inputs, created_at)
  select match_id, mode, user_a, user_b, reason, winner_user_id, ticks, tick_interval_ms, position_a, position_b,
         decode(inputs, 'base64'), created_at
    from json_to_recordset($1) as r (match_id uuid, mode text, user_a bigint, user_b bigint, reason text,
         winner_user_id bigint, ticks integer, tick_interval_ms integer, position_a integer, position_b integer, inputs text,
         created_at timestamptz)
   order by match_id`

// The next row of each player's rating history. Its game number is unique per player, so that a rating computed from an
// outdated one is refused. (A plain update would lose one of two games that end at the same time.)
const APPLY_RATINGS = `
  with applied as (
    insert into rating_applies (match_id, user_id, game, opponent_id, score, rating_before, rating_after, rd_before,
           rd_after, volatility_before, volatility_after)
    select match_id, user_id, game, opponent_id, score, rating_before, rating_after, rd_before, rd_after,
           volatility_before, volatility_after
      from json_to_recordset($1) as r (match_id uuid, user_id bigint, game integer, opponent_id bigint,
           score double precision, rating_before double precision, rating_after double precision,
           rd_before double precision, rd_after double precision, volatility_before double precision,
           volatility_after double precision)
     order by user_id
    returning user_id, game, score, rating_after, rd_after, volatility_after
  )
  update players
     set rating = applied.rating_after, rd = applied.rd_after, volatility = applied.volatility_after,
         games = applied.game, wins = wins + (applied.score = 1)::integer, losses = losses + (applied.score = 0)::integer
    from applied where players.user_id = applied.user_id`

const CLEAR = `
  with over as materialized (
    select match_id, user_a, user_b from json_to_recordset($1) as r (match_id uuid, user_a bigint, user_b bigint)
     order by match_id
  ), freed as (
    delete from seats
     using (select match_id, user_a as user_id from over union all select match_id, user_b from over) as pair
     where seats.user_id = pair.user_id and seats.match_id = pair.match_id
  )
  delete from live_matches using over where live_matches.match_id = over.match_id`

// From the stored row, because a void match may have no node that ran it. Without a row there is nothing to void.
const VOID = `
  with over as (
    delete from live_matches m using json_to_recordset($1) as r (match_id uuid)
     where m.match_id = r.match_id
    returning m.match_id, m.mode, m.user_a, m.user_b, m.tick, m.tick_interval_ms, m.inputs, m.created_at
  ), freed as (
    delete from seats
     using (select match_id, user_a as user_id from over union all select match_id, user_b from over) as pair
     where seats.user_id = pair.user_id and seats.match_id = pair.match_id
  )
  insert into match_results (match_id, mode, user_a, user_b, reason, ticks, tick_interval_ms, inputs, created_at)
  select match_id, mode, user_a, user_b, 'void', tick, tick_interval_ms, inputs, created_at from over`

export interface GameOutcome {
  reason: 'completed' | 'resigned'
  /** Ticks played. */
  ticks: number
  positions: readonly [number, number]
  winner: Side | null
  /** The packed inputs. */
  inputs: Uint8Array
}

/** `ratings` must be the latest of both players, or the insert is refused. */
export function effectsOfResult(match: Match, outcome: GameOutcome, ratings: readonly [Rating, Rating]): Effect[] {
  const [a, b] = match.participants
  const { positions, winner, inputs } = outcome
  const pair = { match_id: match.matchId, user_a: a.userId, user_b: b.userId }
  const result = {
    mode: match.mode,
    reason: outcome.reason,
    winner_user_id: winner === null ? null : match.participants[winner].userId,
    ticks: outcome.ticks,
    tick_interval_ms: match.tickIntervalMs,
    position_a: positions[0],
    position_b: positions[1],
    inputs: Buffer.from(inputs).toString('base64'),
    created_at: match.createdAt,
    ...pair,
  }
  return [
    { sql: INSERT_RESULT, row: result },
    ...(isRated(match)
      ? SIDES.map((side) => ({ sql: APPLY_RATINGS, row: applyRow(match, side, winner, ratings) }))
      : []),
    { sql: CLEAR, row: pair },
  ]
}

const SIDES: readonly Side[] = [0, 1]

export const effectsOfVoid = (matchId: string): Effect[] => [{ sql: VOID, row: { match_id: matchId } }]

function applyRow(match: Match, side: Side, winner: Side | null, ratings: readonly [Rating, Rating]) {
  const other: Side = side === 0 ? 1 : 0
  const score = scoreOf(side, winner)
  const before = ratings[side]
  const after = ratingAfter(before, ratings[other], score)
  return {
    match_id: match.matchId,
    user_id: match.participants[side].userId,
    game: after.games,
    opponent_id: match.participants[other].userId,
    score,
    rating_before: before.rating,
    rating_after: after.rating,
    rd_before: before.rd,
    rd_after: after.rd,
    volatility_before: before.volatility,
    volatility_after: after.volatility,
  }
}

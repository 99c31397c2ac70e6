// A rematch: both players of a match ask for it within 30 s of its end. Asking takes a seat that only the other player of
// that match can share, so that the queue's rules hold: nobody waits twice, and the two are paired once. The bot always
// accepts.
import type { Pool } from '../../../core/db/database.ts'
import { refused, type Refused } from '../../../core/values/outcome.ts'
import { BOT, type Mode } from '../match.ts'

const WITHIN_SEC = 30

const SELECT_ENDED = `
  select mode, user_a, user_b from match_results
   where match_id = $1 and finished_at > clock_timestamp() - ${WITHIN_SEC} * interval '1 second'`

// Asking twice keeps the seat.
const TAKE = `
  insert into seats as known (user_id, mode, code, expires_at)
  select $2, $3, $4, finished_at + ${WITHIN_SEC} * interval '1 second' from match_results where match_id = $1
      on conflict (user_id) do update
         set mode = excluded.mode, code = excluded.code, number = default, joined_at = excluded.joined_at, expires_at = excluded.expires_at
       where known.match_id is null and (known.expires_at <= clock_timestamp() or known.code = excluded.code)
  returning expires_at, (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as left_ms`

export type RematchAnswer =
  | { ok: true; opponentId: number; expiresAt: Date; leftMs: number }
  | Refused<'session_not_found' | 'not_participant' | 'queue_duplicate'>

export type AskRematch = (matchId: string, userId: number) => Promise<RematchAnswer>

export const openRematch =
  (pool: Pool): AskRematch =>
  async (matchId, userId) => {
    type EndedRow = { mode: Mode; user_a: string; user_b: string }
    const [ended] = await pool.query<EndedRow>(SELECT_ENDED, [matchId])
    if (ended === undefined) return refused('session_not_found')
    const players = [Number(ended.user_a), Number(ended.user_b)]
    if (!players.includes(userId)) return refused('not_participant')

    const opponentId = players.find((one) => one !== userId) ?? BOT.userId
    const code = opponentId === BOT.userId ? null : codeOf(matchId)
    type SeatRow = { expires_at: Date; left_ms: number }
    const [seat] = await pool.query<SeatRow>(TAKE, [matchId, userId, ended.mode, code])
    if (seat === undefined) return refused('queue_duplicate')
    return { ok: true, opponentId, expiresAt: seat.expires_at, leftMs: seat.left_ms }
  }

/** Longer than any code that a player can give. */
const codeOf = (matchId: string): string => `rematch of ${matchId}`

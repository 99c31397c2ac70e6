// Records the end of a match once. The ledger's finalize is fenced by attempt, owner and lease; the result, both ratings
// and the seats are its effects, in the same transaction. Calling it again changes nothing and returns what was recorded.
//
// What may fail, and how it is handled:
//
//   deadlock (40P01), serialization failure (40001),   nothing was written: retry after a wait
//   lock timeout (55P03)
//   connection lost                                    it may have been written: retry; if it was, the ledger answers
//                                                      already_finished and the recorded result is read
//   two games of one player ended at the same time     the rating has changed since it was read: read and compute again
//   (unique game number per player)
//   lease expired, no other node has the match         acquire it again
//   another attempt has the match                      that attempt records it
//
// At most eight tries, 25 ms to 1.6 s apart, about 3 s in all. After that the match keeps its expiring lease, and the node
// that takes it over, possibly this one, tries again.
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseError } from 'pg'
import { isConflict, isLostConnection, type Pool } from '../../../core/db/database.ts'
import { retryWaitMs } from '../../../core/concurrency/retry.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Held } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { HeldRefusal } from '../../../core/ledger/refusal.ts'
import { assertNever } from '../../../core/values/outcome.ts'
import type { Match, Rating } from '../match.ts'
import type { MatchEnd } from '../wire.ts'
import { effectsOfResult, effectsOfVoid, type GameOutcome } from './result-effects.ts'

export const TRIES_MAX = 8
const RETRY = { baseMs: 25, maxMs: 1600 }

const SELECT_RATINGS = `
  select user_id, rating, rd, volatility, games from players where user_id = any ($1::bigint[])`
const SELECT_RESULT = `select reason, winner_user_id, ticks from match_results where match_id = $1`

const CHAIN_KEY = 'rating_applies_one_chain_per_player'
const RESULT_KEYS: ReadonlySet<string> = new Set(['match_results_pkey', 'rating_applies_once_per_match'])

export interface RecorderDeps {
  ledger: Pick<Ledger, 'finalize' | 'acquire'>
  pool: Pool
  leaseMs: number
  /** For the log. */
  onRetry?: (matchId: string, why: unknown) => void
}

export interface ToRecord {
  match: Match
  held: Held
  /** Null: void. */
  outcome: GameOutcome | null
}

/** `lost`: another attempt has the match. `gave_up`: TRIES_MAX tries failed. */
export type RecordedMatch = { ok: true; ended: MatchEnd } | { ok: false; code: 'lost' | 'gave_up' }

export type RecordResult = (what: ToRecord) => Promise<RecordedMatch>

type Try = RecordedMatch | { ok: false; code: 'again'; why: unknown; isStale?: boolean; held?: Held }

export function openResultRecorder(deps: RecorderDeps): RecordResult {
  return async ({ match, held, outcome }) => {
    let current = held
    let ratings: readonly [Rating, Rating] = match.participants
    for (let count = 1; count <= TRIES_MAX; count += 1) {
      const tried = await tryOnce(deps, { match, held: current, outcome }, ratings)
      if (tried.ok || tried.code !== 'again') return tried
      deps.onRetry?.(match.matchId, tried.why)
      current = tried.held ?? current
      if (count < TRIES_MAX && tried.held === undefined && tried.isStale !== true)
        await sleep(retryWaitMs(count, RETRY))
      if (tried.isStale === true) ratings = (await readRatings(deps.pool, match).catch(() => null)) ?? ratings
    }
    return { ok: false, code: 'gave_up' }
  }
}

async function tryOnce(deps: RecorderDeps, what: ToRecord, ratings: readonly [Rating, Rating]): Promise<Try> {
  const { match, held, outcome } = what
  const ended = endedOf(match, outcome)
  const effects: Effect[] = outcome === null ? effectsOfVoid(match.matchId) : effectsOfResult(match, outcome, ratings)
  try {
    const answer = await deps.ledger.finalize({ result: jobResult(ended, outcome), effects, ...held })
    return answer.ok ? { ok: true, ended } : await afterRefusal(deps, what, answer.code)
  } catch (error) {
    const constraint = constraintOf(error)
    if (constraint === CHAIN_KEY) return { ok: false, code: 'again', why: error, isStale: true }
    if (constraint !== null && RESULT_KEYS.has(constraint)) return recordedBefore(deps, match.matchId)
    if (isConflict(error) || isLostConnection(error)) return { ok: false, code: 'again', why: error }
    throw error
  }
}

async function afterRefusal(deps: RecorderDeps, { match, held }: ToRecord, code: HeldRefusal): Promise<Try> {
  switch (code) {
    case 'already_finished':
      return recordedBefore(deps, match.matchId)
    case 'unknown_job':
    case 'stale_attempt':
      return { ok: false, code: 'lost' }
    case 'not_in_expected_state':
    case 'lease_lost_or_owner_mismatch':
      return acquireAgain(deps, held)
    default:
      return assertNever(code)
  }
}

/** Acquires the match again, under the next attempt, unless another node has it. */
async function acquireAgain({ ledger, leaseMs }: RecorderDeps, { jobId, owner }: Held): Promise<Try> {
  try {
    const answer = await ledger.acquire({ jobId, owner, leaseMs })
    if (!answer.ok) return answer.code === 'already_finished' ? AGAIN : { ok: false, code: 'lost' }
    const { attemptId } = answer.job
    return { ok: false, code: 'again', why: 'the lease had expired', held: { jobId, attemptId, owner } }
  } catch (error) {
    if (isConflict(error) || isLostConnection(error)) return { ok: false, code: 'again', why: error }
    throw error
  }
}

const AGAIN: Try = { ok: false, code: 'again', why: 'it ended meanwhile' }

async function recordedBefore({ pool }: RecorderDeps, matchId: string): Promise<Try> {
  try {
    const ended = await readResult(pool, matchId)
    return ended === null ? { ok: false, code: 'lost' } : { ok: true, ended }
  } catch (error) {
    if (isConflict(error) || isLostConnection(error)) return { ok: false, code: 'again', why: error }
    throw error
  }
}

/** Null: there is none. */
export async function readResult(pool: Pool, matchId: string): Promise<MatchEnd | null> {
  type MatchResultRow = { reason: MatchEnd['reason']; winner_user_id: string | null; ticks: number }
  const [row] = await pool.query<MatchResultRow>(SELECT_RESULT, [matchId])
  if (row === undefined) return null
  if (row.reason === 'void') return { reason: 'void', result: null }
  const winnerUserId = row.winner_user_id === null ? null : Number(row.winner_user_id)
  return { reason: row.reason, result: { winnerUserId, ticks: row.ticks } }
}

async function readRatings(pool: Pool, { participants: [a, b] }: Match): Promise<[Rating, Rating] | null> {
  type RatingRow = Rating & { user_id: string }
  const rows = await pool.query<RatingRow>(SELECT_RATINGS, [[a.userId, b.userId]])
  const of = (userId: number) => rows.find((row) => Number(row.user_id) === userId)
  const [first, second] = [of(a.userId), of(b.userId)]
  return first === undefined || second === undefined ? null : [first, second]
}

const endedOf = (match: Match, outcome: GameOutcome | null): MatchEnd => {
  if (outcome === null) return { reason: 'void', result: null }
  const { reason, winner, ticks } = outcome
  const winnerUserId = winner === null ? null : match.participants[winner].userId
  return { reason, result: { winnerUserId, ticks } }
}

const jobResult = ({ reason, result }: MatchEnd, outcome: GameOutcome | null) => ({
  reason,
  winner_user_id: result?.winnerUserId ?? null,
  ticks: result?.ticks ?? null,
  positions: outcome?.positions ?? null,
})

const constraintOf = (error: unknown): string | null =>
  error instanceof DatabaseError && error.code === '23505' ? (error.constraint ?? null) : null

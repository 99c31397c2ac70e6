// Running matches, newest first, as lists show them: without their inputs, which grow with every tick.
import type { Queryable } from '../../../core/db/database.ts'
import type { Mode, Participant } from '../match.ts'

const RUNNING_SHOWN_MAX = 50

const SELECT_RUNNING = `
  select match_id, mode, participants, ticks, created_at, tick from live_matches
   order by match_id desc limit ${RUNNING_SHOWN_MAX}`

interface RunningRow {
  match_id: string
  mode: Mode
  participants: [Participant, Participant]
  ticks: number
  created_at: Date
  tick: number
}

export async function runningMatches(on: Queryable) {
  const rows = await on.query<RunningRow>(SELECT_RUNNING)
  return rows.map(({ match_id: matchId, mode, participants, ticks, created_at: createdAt, tick }) => ({
    matchId,
    mode,
    participants: participants.map(({ userId, username }) => ({ userId, username })),
    ticks,
    createdAt: createdAt.toISOString(),
    tick,
  }))
}

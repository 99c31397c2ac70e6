// What the pages of the arena read. None of these opens a connection.
import { ArenaClient, BOT_USER_ID, type LiveMatch } from '@reeve/sdk/arena'

export const reader = new ArenaClient({ url: location.origin })

export const LEADERBOARD_SIZE = 25

export const leaderboardQuery = (page: number, size = LEADERBOARD_SIZE) => ({
  queryKey: ['arena', 'leaderboard', page, size],
  queryFn: () => reader.leaderboard({ page, size }),
  staleTime: 0,
})

export const playerQuery = (userId: number) => ({
  queryKey: ['arena', 'player', userId],
  queryFn: () => reader.player(userId),
  staleTime: 0,
})

/** Without the tick, which the list does not show. */
type RunningMatches = { matches: Omit<LiveMatch, 'tick'>[] }

export const liveQuery = {
  queryKey: ['arena', 'live'],
  queryFn: (): Promise<RunningMatches> => reader.liveMatches(),
  staleTime: 0,
}

export const runningIn = (payload: unknown): RunningMatches | undefined =>
  typeof payload === 'object' && payload !== null && 'matches' in payload && Array.isArray(payload.matches)
    ? { matches: payload.matches }
    : undefined

export const matchQuery = (matchId: string) => ({
  queryKey: ['arena', 'match', matchId],
  queryFn: () => reader.match(matchId),
})

export const isBot = (userId: number): boolean => userId === BOT_USER_ID

/** 1,662 to 1,671: "1662 → 1671 (+9)". Null where no rating moved. */
export function ratingChange(before: number | null, after: number | null): string | null {
  if (before === null || after === null) return null
  const [from, to] = [Math.round(before), Math.round(after)]
  return `${from} → ${to} (${to < from ? '−' : '+'}${Math.abs(to - from)})`
}

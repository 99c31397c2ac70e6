// How far a process has come in the order of its kind: after its own searches, and after what other processes tell of theirs.
import type { SearchTurn } from './search-turn.ts'

/** The longest time between searches from the start while jobs keep coming, of all processes that hear each other together. */
const FROM_START_EVERY_MS = 250
// Where several processes take each other's jobs away, most searches find nothing. Those from the start that follow them are limited to
// one part in so many of the time.
const FROM_START_PART = 20
const STEP_BACK_US = 25_000 // of rank: jobs become visible in the order of their commits, not of their ranks
/** Fewer jobs are not worth a message. */
const SEVERAL = 4
const TELL_EVERY_MS = 20
/** After several jobs, searches from the start are told for so long. */
const BUSY_MS = 500
const START = 0 // before every rank

export interface Position {
  lastRank: number
  /** From here to `lastRank`, every job that was found was taken, by this process or by others. */
  takenFrom: number
  /** The search that led here found as many jobs as it might: the next ones come after `lastRank`. */
  leftJobs: boolean
  searchedFromStart: number
  /** The next search from the start comes no earlier. */
  startAgainAt: number
  /** That search found nothing: jobs that have come since are new. */
  foundNothing: boolean
  /** When it last got several jobs from the start, or told of several. */
  severalAt: number
  turn: SearchTurn
}

/** What a search found. */
export interface Found {
  jobs: number
  /** There may be more. */
  isFull: boolean
  /** The highest of the jobs. Null: there were none. */
  lastRank: number | null
}

/** What a process tells the others: in this range it has taken every job that it found. */
export interface TakenRange {
  takenFrom: number
  lastRank: number
  /** So long nobody needs to search from the start again: this search did. */
  restMs: number
  /** It may have left jobs behind, after the last one. */
  leftJobs: boolean
}

export const nextRank = ({ lastRank }: Position): number => lastRank - STEP_BACK_US

/** Whether it is enough to search from `nextRank` on. */
export const needsNoStart = ({ foundNothing, searchedFromStart }: Position, at: number): boolean =>
  foundNothing || at - searchedFromStart < FROM_START_EVERY_MS

/** After a search from `nextRank` on that found jobs. Returns what to tell. */
export function advance(position: Position, { jobs, isFull, lastRank }: Found, at: number): TakenRange | null {
  position.lastRank = Math.max(position.lastRank, lastRank ?? START)
  position.leftJobs = isFull
  if (jobs < SEVERAL || at - position.severalAt < TELL_EVERY_MS) return null
  position.severalAt = at
  return rangeToTell(position, 0)
}

/** After a search from the start. Returns the position, or null where no job was ever found, and what to tell. */
export function startAnew(
  before: Position | undefined,
  { jobs, isFull, lastRank }: Found,
  { startedAt, endedAt, turn }: { startedAt: number; endedAt: number; turn: SearchTurn },
): { position: Position | null; told: TakenRange | null } {
  const known = lastRank ?? before?.lastRank
  if (known === undefined) return { position: null, told: null }
  const restMs = Math.min(FROM_START_EVERY_MS, (endedAt - startedAt) * FROM_START_PART)
  const severalAt = jobs >= SEVERAL ? endedAt : (before?.severalAt ?? -Infinity)
  const position = {
    lastRank: known,
    takenFrom: START,
    leftJobs: isFull,
    searchedFromStart: startedAt,
    startAgainAt: startedAt + restMs,
    foundNothing: lastRank === null,
    severalAt,
    turn,
  }
  return { position, told: endedAt - severalAt < BUSY_MS ? rangeToTell(position, restMs) : null }
}

/** Goes on from where another process has come. */
export function follow(position: Position, { takenFrom, lastRank, restMs, leftJobs }: TakenRange, at: number): void {
  if (position.leftJobs && !(position.lastRank >= takenFrom)) return
  const leftOlder = leftJobs && !(lastRank >= nextRank(position)) // than those that the next search here would find
  if (lastRank > position.lastRank) position.lastRank = lastRank
  if (leftOlder || !(restMs > 0)) return
  position.searchedFromStart = at
  position.startAgainAt = Math.max(position.startAgainAt, at + restMs)
}

/** The next message goes on where this one ends. */
function rangeToTell(position: Position, restMs: number): TakenRange {
  const { takenFrom, lastRank, leftJobs } = position
  position.takenFrom = nextRank(position)
  return { takenFrom, lastRank, restMs, leftJobs }
}

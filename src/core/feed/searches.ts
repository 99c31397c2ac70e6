// Where in the order of its kind a process searches for its next jobs.
//
// Jobs in progress stay in the index of live jobs, and until the next vacuum it begins with entries of jobs that have ended: a search
// from its start walks past all of them. So a busy process searches from a little before the last job it got, and from the start only
// once in a while: for jobs that are urgent, were released, or were abandoned.
//
// Processes tell each other how far they have come. Without that, each walks past all that the others have taken since its own last
// job (measured: with eight processes, a third of the machine). A message names a range of ranks in which its sender has taken every
// job that it found, and the others go on from its end. A process that has left jobs behind does so only if it has come as far as the
// beginning of the range. Jobs below a position are found by the next search from the start.
import type { Bus } from '../events/bus.ts'
import type { Acquired } from '../ledger/job.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { TakeRequest } from './feed.ts'
import { Turn } from './turn.ts'

const CHANNEL = 'reeve:taken'
const UNASKED_MS = 15_000
/** The longest time between searches from the start while jobs keep coming, of all processes that hear each other together. */
const FROM_START_EVERY_MS = 250
// Where several processes take each other's jobs away, most searches find nothing. Those from the start that follow them are limited to
// one part in so many of the time.
const FROM_START_PART = 20
const STEP_BACK_US = 25_000 // of rank: jobs become visible in the order of their commits, not of their ranks
const TELL_EVERY_MS = 20
/** Fewer jobs are not worth a message. */
const SEVERAL = 4
/** After several jobs, searches from the start are told for so long. */
const BUSY_MS = 500
const START = 0 // before every rank

interface Position {
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
  turn: Turn
}

interface Next {
  jobs: Acquired[]
  /** If there are none: search again after so long without a hint. */
  restMs: number
}

export interface Searches {
  /** The next jobs of a kind. Before it reports that there are none until a hint comes, it has searched from the start. */
  next(request: TakeRequest): Promise<Next>
  /** Hears how far other processes have come. Returns how to stop. */
  listen(): () => void
}

interface SearchesOptions {
  ledger: () => Ledger
  bus: Bus
  owner: string
  leaseMs: number
  /** A clock in milliseconds. */
  now?: () => number
}

export function openSearches({
  ledger,
  bus,
  owner,
  leaseMs,
  now = () => performance.now(),
}: SearchesOptions): Searches {
  const positions = new Map<string, Position>()
  const isEnough = ({ foundNothing, searchedFromStart }: Position) =>
    foundNothing || now() - searchedFromStart < FROM_START_EVERY_MS

  /** `restMs`: so long nobody needs to search from the start again. */
  const tell = (kind: string, position: Position, restMs: number) => {
    bus.publish(CHANNEL, [owner, kind, position.takenFrom, position.lastRank, Math.round(restMs)].join(','))
    position.takenFrom = position.lastRank - STEP_BACK_US
  }

  const hear = (message: string) => {
    const [teller, kind = '', ...numbers] = message.split(',')
    const [takenFrom = NaN, lastRank = NaN, restMs = NaN] = numbers.map(Number)
    const position = positions.get(kind)
    if (position === undefined) return
    if (teller !== owner) position.turn.othersTook()
    if (position.leftJobs && !(position.lastRank >= takenFrom)) return
    if (lastRank > position.lastRank) position.lastRank = lastRank
    if (!(restMs > 0)) return
    position.searchedFromStart = now()
    position.startAgainAt = Math.max(position.startAgainAt, now() + restMs)
  }

  const next = async ({ kind, limit, signal }: TakeRequest): Promise<Next> => {
    const position = positions.get(kind)
    const turn = position?.turn ?? new Turn(now)
    const request = { kind, limit, owner, leaseMs, inTurn: turn.isAwaited }
    const afterPause = async (): Promise<Next> => {
      await turn.pause(signal)
      return signal.aborted ? { jobs: [], restMs: 0 } : next({ kind, limit, signal }) // others have come further meanwhile
    }

    if (position !== undefined && isEnough(position)) {
      const { jobs, lastRank, isOthersTurn } = await ledger().acquireNextFrom(position.lastRank - STEP_BACK_US, request)
      if (isOthersTurn) return afterPause()
      turn.had()
      position.foundNothing = false
      if (lastRank !== null) {
        position.lastRank = Math.max(position.lastRank, lastRank)
        position.leftJobs = jobs.length === limit
        if (jobs.length >= SEVERAL && now() - position.severalAt >= TELL_EVERY_MS) {
          position.severalAt = now()
          tell(kind, position, 0)
        }
        return { jobs, restMs: 0 }
      }
      const restMs = position.startAgainAt - now()
      if (restMs > 0) return { jobs, restMs }
    }

    const started = now()
    const { jobs, lastRank, isOthersTurn } = await ledger().acquireNextFrom(null, request)
    if (isOthersTurn) return afterPause()
    turn.had()
    const ended = now()
    const known = lastRank ?? position?.lastRank
    if (known !== undefined) {
      const leftJobs = jobs.length === limit
      const restMs = Math.min(FROM_START_EVERY_MS, (ended - started) * FROM_START_PART)
      const severalAt = jobs.length >= SEVERAL ? ended : (position?.severalAt ?? -Infinity)
      const searched = { searchedFromStart: started, startAgainAt: started + restMs, foundNothing: lastRank === null }
      const fresh = { lastRank: known, takenFrom: START, leftJobs, severalAt, turn, ...searched }
      positions.set(kind, fresh)
      const leftOlder = leftJobs && !(position !== undefined && known >= position.lastRank - STEP_BACK_US)
      if (ended - severalAt < BUSY_MS) tell(kind, fresh, leftOlder ? 0 : restMs)
    }
    return { jobs, restMs: UNASKED_MS }
  }

  return { next, listen: () => bus.subscribe(CHANNEL, hear) }
}

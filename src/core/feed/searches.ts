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
import type { AcquireNextRequest } from '../ledger/acquire.ts'
import type { Acquired } from '../ledger/job.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { TakeRequest } from './feed.ts'
import { advance, follow, needsNoStart, nextRank, startAnew, type Position, type TakenRange } from './position.ts'
import { SearchTurn } from './search-turn.ts'

const CHANNEL = 'reeve:taken'
const UNASKED_MS = 15_000

interface Next {
  jobs: Acquired[]
  /** If there are none: search again after so long without a hint. */
  restMs: number
}

const OTHERS_TURN = 'the turn of another process'

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

export function openSearches(options: SearchesOptions): Searches {
  const { ledger, bus, owner, leaseMs, now = () => performance.now() } = options
  const positions = new Map<string, Position>()

  const tell = (kind: string, range: TakenRange | null) => {
    if (range === null) return
    const { takenFrom, lastRank, restMs, leftJobs } = range
    bus.publish(CHANNEL, [kind, takenFrom, lastRank, Math.round(restMs), Number(leftJobs), owner].join(','))
  }

  const hear = (message: string) => {
    const [kind = '', takenFrom, lastRank, restMs, leftJobs, ...parts] = message.split(',')
    const teller = parts.join(',') // a setting, which may hold commas
    const position = positions.get(kind)
    if (position === undefined) return
    if (teller !== owner) position.turn.othersTook()
    const range = { takenFrom: Number(takenFrom), lastRank: Number(lastRank), restMs: Number(restMs) }
    follow(position, { ...range, leftJobs: leftJobs === '1' }, now())
  }

  const search = async (rank: number | null, request: AcquireNextRequest) => {
    const { jobs, lastRank, isOthersTurn } = await ledger().acquireNextFrom(rank, request)
    return { jobs, isOthersTurn, found: { jobs: jobs.length, isFull: jobs.length === request.limit, lastRank } }
  }

  /** Null: there is nothing, and a search from the start has to follow. */
  const searchOn = async (position: Position, request: AcquireNextRequest) => {
    const { jobs, isOthersTurn, found } = await search(nextRank(position), request)
    if (isOthersTurn) return OTHERS_TURN
    position.turn.searched()
    position.foundNothing = false
    if (jobs.length > 0) {
      tell(request.kind, advance(position, found, now()))
      return { jobs, restMs: 0 }
    }
    const restMs = position.startAgainAt - now()
    return restMs > 0 ? { jobs, restMs } : null
  }

  const searchFromStart = async (turn: SearchTurn, request: AcquireNextRequest) => {
    const { kind } = request
    const startedAt = now()
    const { jobs, isOthersTurn, found } = await search(null, request)
    if (isOthersTurn) return OTHERS_TURN
    turn.searched()
    const { position, told } = startAnew(positions.get(kind), found, { startedAt, endedAt: now(), turn })
    if (position !== null) positions.set(kind, position)
    tell(kind, told)
    return { jobs, restMs: UNASKED_MS }
  }

  const next = async (asked: TakeRequest): Promise<Next> => {
    const { kind, limit, signal } = asked
    const position = positions.get(kind)
    const turn = position?.turn ?? new SearchTurn(now)
    const request = { kind, limit, owner, leaseMs, exclusively: turn.isAwaited }
    const isNear = position !== undefined && needsNoStart(position, now())
    const answer = (isNear ? await searchOn(position, request) : null) ?? (await searchFromStart(turn, request))
    if (answer !== OTHERS_TURN) return answer
    await turn.pause(signal)
    return signal.aborted ? { jobs: [], restMs: 0 } : next(asked) // others have come further meanwhile
  }

  return { next, listen: () => bus.subscribe(CHANNEL, hear) }
}

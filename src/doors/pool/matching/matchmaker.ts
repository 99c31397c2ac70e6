// Polls wait here. One pass at a time brings together all who wait in this process and what waits in the database: however
// many workers poll, a new job costs one look, and wakes only who gets it. A pass runs when somebody comes, when something
// may have become ready (a hint on the bus), and once a second in case a hint was lost.
//
//   poll ──► wait ──► pass: open lanes → who is eligible → first jobs of those lanes → match → acquire ──► assignment
//                       └── nothing for this worker: wait on, or "No assignment available" when its time is up
import type { Bus } from '../../../core/events/bus.ts'
import { Wake, type Loop } from '../../../core/loop.ts'
import type { Assignment, Assignments, GiveAnswer } from './assignments.ts'
import type { Candidates } from './candidates.ts'
import type { CanaryStock } from '../canaries/canary-stock.ts'
import type { Lane, Lanes } from '../tasks/requirement-classes.ts'
import { match, type Candidate, type Pair } from './match.ts'
import type { PoolMetrics } from '../metrics.ts'
import type { Presence, Worker } from '../workers/presence.ts'
import { isTrusted } from '../workers/reputation.ts'
import { isEligible } from '../tasks/requirements.ts'
import type { Repair } from './repair.ts'
import type { Turns } from './fair-share.ts'

const CHANNEL = 'reeve:pool'
const READY = 'ready'
const LOOK_AGAIN_MS = 1000
const WAITERS_MAX = 500 // in one pass
const HEADS_MAX = 100 // of one lane
const WAITING_MAX = 100_000
const PASSES_MAX = 5 // that a poll without patience waits for
const BARREN_MAX = 20 // passes in a row that changed something and gave nothing: then the next hint, or a second, is waited for

/** `again`: what was known of the worker has changed; ask from the beginning. */
export type Waited = Assignment | 'nothing' | 'again'

interface Waiter extends Candidate {
  /** Workers with the same region and specs are eligible for the same. */
  profile: string
  /** False: answered as soon as it is clear that there is nothing for it. */
  isPatient: boolean
  passes: number
  /** Aborts when there is nobody left to answer. */
  signal: AbortSignal
  /** Answered already. */
  hasGone(): boolean
  settle(waited: Waited): void
  fail(error: unknown): void
}

export interface Matchmaker {
  wait(worker: Worker, options: { timeoutMs: number; signal: AbortSignal }): Promise<Waited>
  /** Something may be ready: to all processes. */
  announce(): void
  /** How many polls wait here. */
  size(): number
  /** One pass; true if another one may find more. */
  runOnce(): Promise<boolean>
  /** For processes that serve. */
  loops: readonly Loop[]
  /** Answers who waits here, and who comes later, with nothing. */
  close(): void
}

export interface MatchmakerDeps {
  bus: Bus
  assignments: Assignments
  candidates: Candidates
  canaries: CanaryStock
  lanes: Lanes
  presence: Presence
  repair: Repair
  metrics: PoolMetrics
  turns: Turns
  leaseMs: number
  canaryPercent: number
  probationCanaries: number
  random: () => number
}

export function openMatchmaker(deps: MatchmakerDeps): Matchmaker {
  const waiting = new Map<number, Waiter>()
  const wake = new Wake()
  let isClosed = false
  const unsubscribe = deps.bus.subscribe(CHANNEL, wake.ring.bind(wake), wake.ring.bind(wake))
  let lastLane = 0
  let turn = 0
  let barren = 0

  const runOnce = async (): Promise<boolean> => {
    if (waiting.size === 0) return false
    const present = [...waiting.values()]
    try {
      const { laneIds, next } = await deps.candidates.openLanes(lastLane)
      lastLane = next
      const lanes = await deps.lanes.byId(laneIds)
      // Who is eligible for nothing is not looked at further; of very many, each pass begins with others.
      const eligible = eligibleOf(present, lanes)
      const asking = rotated(eligible, turn).slice(0, WAITERS_MAX)
      const pairs = asking.length === 0 ? [] : await pairsFor(deps, asking, lanes)
      const outcomes = await Promise.all(
        pairs.map((pair) => give(deps, pair, () => waiting.get(pair.waiter.worker.workerId))),
      )
      barren = outcomes.includes('changed') && !outcomes.includes('given') ? barren + 1 : 0
      const hasChanged = outcomes.some((outcome) => outcome !== 'failed') && barren <= BARREN_MAX
      turn = hasChanged ? 0 : turn + WAITERS_MAX
      const isOver = !hasChanged && next === 0 && turn >= eligible.length
      if (isOver) turn = 0
      dismiss(present, isOver)
      return !isOver
    } catch (error) {
      for (const waiter of present) if (!waiter.isPatient) waiter.fail(error)
      throw error
    }
  }

  const loops: readonly Loop[] = [
    { name: 'match workers and jobs', everyMs: LOOK_AGAIN_MS, wake, runOnce },
    {
      name: 'keep waiting workers online',
      everyMs: deps.leaseMs / 3,
      async runOnce() {
        if (waiting.size > 0) await deps.presence.touchWaiting([...waiting.keys()])
        return false
      },
    },
  ]
  return {
    wait: async (worker, options) => (isClosed ? 'nothing' : waitIn(waiting, worker, options, deps, () => wake.ring())),
    announce: () => deps.bus.publish(CHANNEL, READY),
    size: () => waiting.size,
    runOnce,
    loops,
    close() {
      isClosed = true
      unsubscribe()
      for (const waiter of waiting.values()) waiter.settle('nothing')
    },
  }
}

/** A worker that polls anew has lost its earlier poll: that one is answered with nothing. */
function waitIn(
  waiting: Map<number, Waiter>,
  worker: Worker,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  { canaries, probationCanaries }: MatchmakerDeps,
  ring: () => void,
): Promise<Waited> {
  waiting.get(worker.workerId)?.settle('nothing')
  if (waiting.size >= WAITING_MAX || signal.aborted) return Promise.resolve('nothing')
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
      if (waiting.get(worker.workerId) === waiter) waiting.delete(worker.workerId)
    }
    const waiter: Waiter = {
      worker,
      isTrusted: isTrusted(worker, canaries.countFor(worker), probationCanaries),
      profile: JSON.stringify([worker.region, worker.specs]),
      isPatient: timeoutMs > 0,
      passes: 0,
      signal,
      hasGone: () => waiting.get(worker.workerId) !== waiter,
      settle(waited) {
        leave()
        resolve(waited)
      },
      fail(error) {
        leave()
        reject(error)
      },
    }
    const giveUp = () => waiter.settle('nothing')
    const timer = timeoutMs > 0 ? setTimeout(giveUp, timeoutMs) : undefined
    signal.addEventListener('abort', giveUp)
    waiting.set(worker.workerId, waiter)
    ring()
  })
}

/** Who has no patience is answered as soon as it is clear that there is nothing, and not much later in any case. */
function dismiss(present: readonly Waiter[], isOver: boolean): void {
  for (const waiter of present) {
    waiter.passes += 1
    if (!waiter.isPatient && (isOver || waiter.passes >= PASSES_MAX)) waiter.settle('nothing')
  }
}

function eligibleOf(present: readonly Waiter[], lanes: readonly Lane[]): Waiter[] {
  const known = new Map<string, boolean>()
  return present.filter(({ worker, profile }) => {
    if (worker.isBanned) return false
    const isOfUse = known.get(profile) ?? lanes.some((lane) => isEligible(lane, worker))
    known.set(profile, isOfUse)
    return isOfUse
  })
}

async function pairsFor(deps: MatchmakerDeps, asking: readonly Waiter[], lanes: readonly Lane[]) {
  const { candidates, turns, canaryPercent, random } = deps
  const ofJobs = lanes.filter(({ clientId }) => clientId !== null)
  const ofCanaries = lanes.filter(({ clientId }) => clientId === null)
  const wanted = ofJobs.flatMap((lane) => {
    const heads = Math.min(HEADS_MAX, asking.filter(({ worker }) => isEligible(lane, worker)).length)
    return heads === 0 ? [] : [{ laneId: lane.laneId, heads }]
  })
  const owners = new Map(
    asking.map(({ worker, isTrusted }) => [`${worker.ownerId} ${isTrusted}`, { ownerId: worker.ownerId, isTrusted }]),
  )
  const heads = wanted.length === 0 ? [] : await candidates.heads(wanted, [...owners.values()])
  const canaries =
    ofCanaries.length === 0
      ? []
      : await candidates.canaries(
          ofCanaries.map(({ laneId }) => laneId),
          asking.map(({ worker }) => worker.workerId),
        )
  return match(asking, { lanes, heads, canaries, turns, canaryPercent, random })
}

/** `changed`: it was not given, but whatever stood in the way is put right, so that another pass may find more. */
async function give(
  deps: MatchmakerDeps,
  { waiter, gift }: Pair<Waiter>,
  newer: () => Waiter | undefined,
): Promise<'given' | 'changed' | 'failed'> {
  const { assignments, canaries, repair, metrics } = deps
  const { worker } = waiter
  try {
    const answer = await assignments.give(worker, gift)
    if (!answer.ok) {
      if (answer.code === 'taken') waiter.settle('again')
      else await repair.task(gift.jobId, answer.code)
      return 'changed'
    }
    if (gift.canaryId !== null) canaries.taken()
    if (waiter.hasGone()) {
      await handOver(deps, waiter, newer, answer)
      return 'changed'
    }
    metrics.assigned.inc({ kind: gift.canaryId !== null ? 'canary' : gift.quorumId !== null ? 'replica' : 'job' })
    waiter.settle(answer.assignment)
    return 'given'
  } catch (error) {
    waiter.fail(error)
    return 'failed'
  }
}

/**
 * The poll ended while it was being served. If its time was up, the worker's next poll finds what it was given; if that one
 * waits already, it is told to look. If the worker went away, somebody else can have it.
 */
async function handOver(
  { assignments, bus }: MatchmakerDeps,
  { worker, signal }: Waiter,
  newer: () => Waiter | undefined,
  { held, assignment }: GiveAnswer & { ok: true },
): Promise<void> {
  const next = newer()
  if (next !== undefined) return next.settle('again')
  if (!signal.aborted) return
  if (await assignments.takeFromAbsent(worker.workerId, held, assignment.assignmentId)) bus.publish(CHANNEL, READY)
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const start = items.length === 0 ? 0 : by % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}

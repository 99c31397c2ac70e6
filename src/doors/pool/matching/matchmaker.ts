// Matches waiting polls with waiting tasks. One pass at a time serves all polls of this process: however many workers poll, a
// new job costs one pass and wakes only the worker that gets it. A pass runs when a poll arrives, when a hint on the bus says
// that a task may be ready, and once a second in case a hint was lost.
//
//   poll ──► waiting ──► pass: waiting classes → eligible workers → first tasks of those classes → match → acquire ──► assignment
//                          │   (both at once, where tasks wait in no other class than at the last pass)
//                          └── nothing for this worker: it waits on, or gets "No assignment available" at its time-out
import type { Bus } from '../../../core/events/bus.ts'
import { Wake, type Loop } from '../../../core/loop.ts'
import type { CanaryStock } from '../canaries/canary-stock.ts'
import type { PoolMetrics } from '../metrics.ts'
import type { RequirementClass, RequirementClasses } from '../tasks/requirement-classes.ts'
import type { Presence, Worker } from '../workers/presence.ts'
import { isTrusted } from '../workers/reputation.ts'
import type { Assignments, AssignAnswer } from './assignments.ts'
import type { Candidates, WaitingTask, WantedTasks } from './candidates.ts'
import type { FairShare } from './fair-share.ts'
import { match, type Pair } from './match.ts'
import type { Repair } from './repair.ts'
import { dismiss, WaitingPolls, type PollLimits, type PollOutcome, type WaitingPoll } from './waiting-polls.ts'
import { openWanted, POLLS_PER_PASS_MAX, type Wanted } from './wanted.ts'

const CHANNEL = 'reeve:pool'
const READY = 'ready'
const PASS_EVERY_MS = 1000
// Passes in a row that repaired something and assigned nothing; then the next hint, or the next second, starts a pass.
const FRUITLESS_MAX = 20

export interface TaskMatcher {
  wait(worker: Worker, limits: PollLimits): Promise<PollOutcome>
  /** Tells all processes that a task may be ready. */
  announce(): void
  /** The number of polls that wait in this process. */
  size(): number
  /** One pass; true if another one may find more. */
  runOnce(): Promise<boolean>
  /** For processes that serve. */
  loops: readonly Loop[]
  /** Answers waiting and later polls with nothing. */
  close(): void
}

export interface TaskMatcherDeps {
  bus: Bus
  assignments: Assignments
  candidates: Candidates
  canaries: CanaryStock
  classes: RequirementClasses
  presence: Presence
  repair: Repair
  metrics: PoolMetrics
  fairShare: FairShare
  leaseMs: number
  canaryPercent: number
  probationCanaries: number
  random: () => number
}

export function openMatchmaker(deps: TaskMatcherDeps): TaskMatcher {
  const polls = new WaitingPolls()
  const wake = new Wake()
  const unsubscribe = deps.bus.subscribe(CHANNEL, wake.ring.bind(wake), wake.ring.bind(wake))
  let offset = 0
  let fruitless = 0
  const lookFor = openWanted(deps, polls)

  // `short` were there before the tasks were read: they can be told that there is nothing.
  const pass = async (short: readonly WaitingPoll[]): Promise<boolean> => {
    const { classes, next, eligible, wanted } = await lookFor(offset)
    const { pairs, isLast } = wanted.polls.length === 0 ? NO_PAIRS : await pairsFor(deps, classes, wanted)
    const outcomes = await Promise.all(pairs.map((pair) => assignPair(deps, polls, pair)))
    fruitless = outcomes.includes('changed') && !outcomes.includes('assigned') ? fruitless + 1 : 0
    const isDone = isLast && next === 0 && outcomes.every((outcome) => outcome === 'assigned')
    const hasChanged = outcomes.some((outcome) => outcome !== 'failed') && fruitless <= FRUITLESS_MAX
    offset = hasChanged ? 0 : offset + POLLS_PER_PASS_MAX
    const isOver = isDone || (!hasChanged && next === 0 && offset >= eligible)
    if (isOver) offset = 0
    dismiss(short, isOver)
    return !isOver
  }
  const runOnce = async (): Promise<boolean> => {
    if (polls.size === 0) return false
    const short = polls.short()
    try {
      return await pass(short)
    } catch (error) {
      for (const { waiter } of short) waiter.reject(error)
      throw error
    }
  }

  return {
    wait(worker, limits) {
      const { canaries, probationCanaries } = deps
      const answer = polls.wait(worker, isTrusted(worker, canaries.countFor(worker), probationCanaries), limits)
      wake.ring()
      return answer
    },
    announce: () => deps.bus.publish(CHANNEL, READY),
    size: () => polls.size,
    runOnce,
    loops: [
      { name: 'match-polls-and-tasks', everyMs: PASS_EVERY_MS, wake, runOnce },
      {
        name: 'keep-waiting-workers-online',
        everyMs: deps.leaseMs / 3,
        async runOnce() {
          if (polls.size > 0) await deps.presence.touchWaiting(polls.workerIds())
          return false
        },
      },
    ],
    close() {
      unsubscribe()
      polls.close()
    },
  }
}

interface Pairs {
  pairs: readonly Pair<WaitingPoll>[]
  /** Every task that waits is among them. What comes later rings. */
  isLast: boolean
}

const NO_PAIRS: Pairs = { pairs: [], isLast: false }

async function pairsFor(deps: TaskMatcherDeps, classes: readonly RequirementClass[], wanted: Wanted): Promise<Pairs> {
  const { polls } = wanted
  const { candidates, fairShare, canaryPercent, random } = deps
  const ofJobs = classes.filter(({ clientId }) => clientId !== null)
  const ofCanaries = classes.filter(({ clientId }) => clientId === null)
  const tasks = wanted.tasks ?? (wanted.classes.length === 0 ? [] : await candidates.firstTasks(wanted))
  const canaries =
    ofCanaries.length === 0
      ? []
      : await candidates.canaries(
          ofCanaries.map(({ classId }) => classId),
          polls.map(({ worker }) => worker.workerId),
        )
  const pairs = match(polls, { classes, tasks, canaries, fairShare, canaryPercent, random })
  const isComplete = ofCanaries.length === 0 && ofJobs.every(({ classId }) => isAmong(wanted.classes, classId))
  const isLast = isComplete && pairs.length === tasks.length && wanted.classes.every((one) => hasAll(tasks, one))
  return { pairs, isLast }
}

const isAmong = (wanted: WantedTasks['classes'], classId: number): boolean =>
  wanted.some((one) => one.classId === classId)

/** Fewer were read than asked for. */
const hasAll = (tasks: readonly WaitingTask[], { classId, limit }: { classId: number; limit: number }): boolean =>
  tasks.filter((task) => task.classId === classId).length < limit

/** `changed`: nothing was assigned, but what stood in the way is repaired, so another pass may find more. */
async function assignPair(
  deps: TaskMatcherDeps,
  polls: WaitingPolls,
  { candidate: poll, assignable }: Pair<WaitingPoll>,
): Promise<'assigned' | 'changed' | 'failed'> {
  const { assignments, canaries, repair, metrics } = deps
  const { worker, waiter } = poll
  try {
    const answer = await assignments.assign(worker, assignable)
    if (!answer.ok) {
      if (answer.code === 'taken') waiter.resolve('again')
      else await repair.task(assignable.jobId, answer.code)
      return 'changed'
    }
    const { quorumId, canaryId } = assignable
    if (canaryId !== null) canaries.taken()
    if (waiter.hasLeft) {
      await handOver(deps, polls, poll, answer)
      return 'changed'
    }
    metrics.assigned.inc({ kind: canaryId !== null ? 'canary' : quorumId !== null ? 'replica' : 'job' })
    waiter.resolve(answer.assignment)
    return 'assigned'
  } catch (error) {
    waiter.reject(error)
    return 'failed'
  }
}

/**
 * The poll ended while its assignment was made. After a time-out, the worker's next poll finds the assignment; if that one
 * waits already, it starts over. If the worker disconnected, another worker can have the job.
 */
async function handOver(
  { assignments, bus }: TaskMatcherDeps,
  polls: WaitingPolls,
  { worker, signal }: WaitingPoll,
  { held, assignment }: AssignAnswer & { ok: true },
): Promise<void> {
  const newer = polls.of(worker.workerId)
  if (newer !== undefined) return newer.waiter.resolve('again')
  if (!signal.aborted) return
  if (await assignments.releaseAbsent(worker.workerId, held, assignment.assignmentId)) bus.publish(CHANNEL, READY)
}

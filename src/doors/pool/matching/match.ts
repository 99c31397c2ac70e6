// Which worker gets which task. Pure: it pairs waiting workers, in the order in which they came, with assignable tasks.
//
// Clients share the workers fairly, so that none starves; within the client that is served next, priority decides, then age.
// Now and then a canary takes the place of a job. It shows the cost hint of that job, so the worker cannot tell them apart.
import type { WaitingTask, WaitingCanary } from './candidates.ts'
import type { Assignable } from './assignments.ts'
import type { RequirementClass } from '../tasks/requirement-classes.ts'
import type { Worker } from '../workers/presence.ts'
import { isEligible, type Requirements } from '../tasks/requirements.ts'
import type { FairShare } from './fair-share.ts'

const PROBATION_PERCENT = 50

export interface Candidate {
  worker: Worker
  isTrusted: boolean
}

export interface Pair<Waiting extends Candidate> {
  candidate: Waiting
  assignable: Assignable
}

export interface MatchInput {
  classes: readonly RequirementClass[]
  tasks: readonly WaitingTask[]
  canaries: readonly WaitingCanary[]
  fairShare: FairShare
  canaryPercent: number
  /** From 0 to 1. */
  random: () => number
}

interface Queue {
  of: RequirementClass
  tasks: WaitingTask[]
}

export function match<Waiting extends Candidate>(candidates: readonly Waiting[], input: MatchInput): Pair<Waiting>[] {
  const free = new Set(candidates)
  const queues = queuesOf(input)
  const replicas = new ReplicaRules()
  const canaries = new CanaryPicker(input)
  const pairs: Pair<Waiting>[] = []
  const assign = (candidate: Waiting, assignable: Assignable) => {
    pairs.push({ candidate, assignable })
    free.delete(candidate)
  }

  while (free.size > 0) {
    const queue = nextQueue(queues, input.fairShare)
    const task = queue?.tasks[0]
    if (queue === null || task === undefined) break
    const candidate = find(free, ({ worker, isTrusted }) => {
      if (task.failedBy.includes(worker.workerId)) return false
      return isEligible(queue.of, worker) && replicas.allow(task, worker.ownerId, isTrusted)
    })
    if (candidate === null) {
      queue.tasks.shift() // no waiting worker may run it
      continue
    }
    const canary = canaries.insteadOf(task, candidate)
    if (canary !== null) {
      assign(candidate, canary)
      continue
    }
    queue.tasks.shift()
    replicas.add(task, candidate.worker.ownerId, candidate.isTrusted)
    if (queue.of.clientId !== null) input.fairShare.charge(queue.of.clientId)
    assign(candidate, assignableOf(task, candidate.isTrusted))
  }
  // A worker on probation that may run no task gets a canary: it has to pass some to be trusted.
  for (const candidate of free) {
    const canary = candidate.isTrusted ? null : canaries.for(candidate)
    if (canary !== null) assign(candidate, canary)
  }
  return pairs
}

function queuesOf({ classes, tasks }: MatchInput): Queue[] {
  const queueOf = new Map(classes.map((one) => [one.classId, { of: one, tasks: new Array<WaitingTask>() }]))
  for (const task of tasks) queueOf.get(task.classId)?.tasks.push(task)
  return [...queueOf.values()].filter((queue) => queue.tasks.length > 0)
}

function nextQueue(queues: readonly Queue[], fairShare: FairShare): Queue | null {
  let best: Queue | null = null
  for (const queue of queues) {
    if (queue.tasks.length > 0 && (best === null || isBefore(queue, best, fairShare))) best = queue
  }
  return best
}

function isBefore(a: Queue, b: Queue, fairShare: FairShare): boolean {
  const [first, second] = [a.tasks[0], b.tasks[0]]
  if (first === undefined || second === undefined) return false
  const lead = fairShare.servedOf(a.of.clientId ?? 0) - fairShare.servedOf(b.of.clientId ?? 0)
  if (lead !== 0) return lead < 0
  if (first.priority !== second.priority) return first.priority > second.priority
  if (first.acceptedAt !== second.acceptedAt) return first.acceptedAt < second.acceptedAt
  return first.jobId < second.jobId
}

function find<Item>(items: Iterable<Item>, fits: (item: Item) => boolean): Item | null {
  for (const item of items) if (fits(item)) return item
  return null
}

const assignableOf = (task: WaitingTask, isTrusted: boolean): Assignable => ({
  jobId: task.jobId,
  quorumId: task.replica?.quorumId ?? null,
  canaryId: null,
  costHint: task.priority,
  isTrusted,
  now: task.now,
  timeoutSec: task.timeoutSec,
})

/** Who may run which replica, counting those of this pass beside those that the database knows of. */
class ReplicaRules {
  readonly #assigned = new Map<string, { owners: Set<number>; untrusted: number }>()

  allow({ replica }: WaitingTask, ownerId: number, isTrusted: boolean): boolean {
    if (replica === null) return true
    const { owners, untrusted } = this.#of(replica)
    if (owners.has(ownerId)) return false
    return isTrusted || replica.quorum < 2 || untrusted < replica.quorum - 1
  }

  add({ replica }: WaitingTask, ownerId: number, isTrusted: boolean): void {
    if (replica === null) return
    const assigned = this.#of(replica)
    assigned.owners.add(ownerId)
    if (!isTrusted) assigned.untrusted += 1
  }

  #of(replica: NonNullable<WaitingTask['replica']>) {
    const known = this.#assigned.get(replica.quorumId)
    if (known !== undefined) return known
    const fresh = { owners: new Set(replica.owners), untrusted: replica.untrusted }
    this.#assigned.set(replica.quorumId, fresh)
    return fresh
  }
}

class CanaryPicker {
  readonly #waiting: Set<WaitingCanary>
  readonly #requirements: ReadonlyMap<number, Requirements>
  readonly #percent: number
  readonly #random: () => number

  constructor({ canaries, classes, canaryPercent, random }: MatchInput) {
    this.#waiting = new Set(canaries)
    this.#requirements = new Map(classes.map((one) => [one.classId, one]))
    this.#percent = canaryPercent
    this.#random = random
  }

  /** Null: the task itself, or there is no canary for this worker. */
  insteadOf(task: WaitingTask, candidate: Candidate): Assignable | null {
    if (this.#waiting.size === 0) return null
    const percent = candidate.isTrusted ? this.#percent : Math.max(this.#percent, PROBATION_PERCENT)
    if (this.#random() * 100 >= percent) return null
    const canary = this.for(candidate)
    return canary === null ? null : { ...canary, costHint: task.priority }
  }

  for({ worker, isTrusted }: Candidate): Assignable | null {
    const usable = [...this.#waiting].filter(({ classId, usedBy }) => {
      const requirements = this.#requirements.get(classId)
      return requirements !== undefined && !usedBy.has(worker.workerId) && isEligible(requirements, worker)
    })
    const canary = usable[Math.floor(this.#random() * usable.length)]
    if (canary === undefined) return null
    this.#waiting.delete(canary)
    const { jobId, canaryId, priority: costHint, now } = canary
    return { jobId, quorumId: null, canaryId, costHint, isTrusted, now, timeoutSec: Infinity }
  }
}

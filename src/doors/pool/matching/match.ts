// Who gets what. Pure: from those who wait, in the order in which they came, and from what could be given, it makes pairs.
//
// Between clients it goes by turns, so that nobody starves; among those whose turn it is, by priority, then by age. A canary
// takes the place of a job now and then; the worker is told the job's own cost, and cannot tell.
import type { Head, WaitingCanary } from './candidates.ts'
import type { Gift } from './assignments.ts'
import type { Lane } from '../tasks/requirement-classes.ts'
import type { Worker } from '../workers/presence.ts'
import { isEligible, type Requirements } from '../tasks/requirements.ts'
import type { Turns } from './fair-share.ts'

const PROBATION_PERCENT = 50

export interface Candidate {
  worker: Worker
  isTrusted: boolean
}

export interface Pair<Waiter extends Candidate> {
  waiter: Waiter
  gift: Gift
}

export interface Offer {
  lanes: readonly Lane[]
  heads: readonly Head[]
  canaries: readonly WaitingCanary[]
  turns: Turns
  canaryPercent: number
  /** From 0 to 1. */
  random: () => number
}

interface Line {
  lane: Lane
  heads: Head[]
}

export function match<Waiter extends Candidate>(waiters: readonly Waiter[], offer: Offer): Pair<Waiter>[] {
  const free = new Set(waiters)
  const lines = linesOf(offer)
  const replicas = new Replicas()
  const canaries = new Canaries(offer)
  const pairs: Pair<Waiter>[] = []
  const give = (waiter: Waiter, gift: Gift) => {
    pairs.push({ waiter, gift })
    free.delete(waiter)
  }

  while (free.size > 0) {
    const line = nextLine(lines, offer.turns)
    const head = line?.heads[0]
    if (line === null || head === undefined) break
    const waiter = find(free, ({ worker, isTrusted }) => {
      return isEligible(line.lane, worker) && replicas.allow(head, worker.ownerId, isTrusted)
    })
    if (waiter === null) {
      line.heads.shift() // of use to nobody who waits
      continue
    }
    const canary = canaries.insteadOf(head, waiter)
    if (canary !== null) {
      give(waiter, canary)
      continue
    }
    line.heads.shift()
    replicas.add(head, waiter.worker.ownerId, waiter.isTrusted)
    if (line.lane.clientId !== null) offer.turns.take(line.lane.clientId)
    give(waiter, giftOf(head, waiter.isTrusted))
  }
  // Who must prove itself first, and finds nothing that it may take, is given the chance to.
  for (const waiter of free) {
    const canary = waiter.isTrusted ? null : canaries.for(waiter)
    if (canary !== null) give(waiter, canary)
  }
  return pairs
}

function linesOf({ lanes, heads }: Offer): Line[] {
  const lineOf = new Map(lanes.map((lane) => [lane.laneId, { lane, heads: new Array<Head>() }]))
  for (const head of heads) lineOf.get(head.laneId)?.heads.push(head)
  return [...lineOf.values()].filter((line) => line.heads.length > 0)
}

function nextLine(lines: readonly Line[], turns: Turns): Line | null {
  let best: Line | null = null
  for (const line of lines) {
    if (line.heads.length > 0 && (best === null || isBefore(line, best, turns))) best = line
  }
  return best
}

function isBefore(a: Line, b: Line, turns: Turns): boolean {
  const [first, second] = [a.heads[0], b.heads[0]]
  if (first === undefined || second === undefined) return false
  const turn = turns.of(a.lane.clientId ?? 0) - turns.of(b.lane.clientId ?? 0)
  if (turn !== 0) return turn < 0
  if (first.priority !== second.priority) return first.priority > second.priority
  if (first.acceptedAt !== second.acceptedAt) return first.acceptedAt < second.acceptedAt
  return first.jobId < second.jobId
}

function find<Item>(items: Iterable<Item>, fits: (item: Item) => boolean): Item | null {
  for (const item of items) if (fits(item)) return item
  return null
}

const giftOf = (head: Head, isTrusted: boolean): Gift => ({
  jobId: head.jobId,
  quorumId: head.replica?.quorumId ?? null,
  canaryId: null,
  costHint: head.priority,
  isTrusted,
  leaseUntil: head.leaseUntil,
})

/** Whose replicas were given just now, beside those that the database knew of. */
class Replicas {
  readonly #given = new Map<string, { owners: Set<number>; untrusted: number }>()

  allow({ replica }: Head, ownerId: number, isTrusted: boolean): boolean {
    if (replica === null) return true
    const { owners, untrusted } = this.#of(replica)
    if (owners.has(ownerId)) return false
    return isTrusted || replica.quorum < 2 || untrusted < replica.quorum - 1
  }

  add({ replica }: Head, ownerId: number, isTrusted: boolean): void {
    if (replica === null) return
    const given = this.#of(replica)
    given.owners.add(ownerId)
    if (!isTrusted) given.untrusted += 1
  }

  #of(replica: NonNullable<Head['replica']>) {
    const known = this.#given.get(replica.quorumId)
    if (known !== undefined) return known
    const fresh = { owners: new Set(replica.owners), untrusted: replica.untrusted }
    this.#given.set(replica.quorumId, fresh)
    return fresh
  }
}

class Canaries {
  readonly #waiting: Set<WaitingCanary>
  readonly #requirements: ReadonlyMap<number, Requirements>
  readonly #percent: number
  readonly #random: () => number

  constructor({ canaries, lanes, canaryPercent, random }: Offer) {
    this.#waiting = new Set(canaries)
    this.#requirements = new Map(lanes.map((lane) => [lane.laneId, lane]))
    this.#percent = canaryPercent
    this.#random = random
  }

  /** Null: not this time, or there is none for this worker. */
  insteadOf(head: Head, waiter: Candidate): Gift | null {
    if (this.#waiting.size === 0) return null
    const percent = waiter.isTrusted ? this.#percent : Math.max(this.#percent, PROBATION_PERCENT)
    if (this.#random() * 100 >= percent) return null
    const canary = this.for(waiter)
    return canary === null ? null : { ...canary, costHint: head.priority }
  }

  for({ worker, isTrusted }: Candidate): Gift | null {
    const usable = [...this.#waiting].filter(({ laneId, usedBy }) => {
      const requirements = this.#requirements.get(laneId)
      return requirements !== undefined && !usedBy.has(worker.workerId) && isEligible(requirements, worker)
    })
    const canary = usable[Math.floor(this.#random() * usable.length)]
    if (canary === undefined) return null
    this.#waiting.delete(canary)
    const { jobId, canaryId, priority: costHint, leaseUntil } = canary
    return { jobId, quorumId: null, canaryId, costHint, isTrusted, leaseUntil }
  }
}

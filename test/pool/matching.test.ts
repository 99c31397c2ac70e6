// Who gets what, without a database: turns, eligibility, replicas and canaries.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Head, WaitingCanary } from '../../src/doors/pool/matching/candidates.ts'
import type { Lane } from '../../src/doors/pool/tasks/requirement-classes.ts'
import { match, type Candidate, type Offer } from '../../src/doors/pool/matching/match.ts'
import type { Worker } from '../../src/doors/pool/workers/presence.ts'
import { isTrusted, scoreOf } from '../../src/doors/pool/workers/reputation.ts'
import { isEligible } from '../../src/doors/pool/tasks/requirements.ts'
import { decide, FAILED_VOTE, type Count } from '../../src/doors/pool/quorum/tally.ts'
import { Turns } from '../../src/doors/pool/matching/fair-share.ts'
import { seeded } from '../support/seeded.ts'

const worker = (workerId: number, more: Partial<Worker> = {}): Worker => ({
  workerId,
  ownerId: workerId,
  region: null,
  specs: null,
  isBanned: false,
  passed: 0,
  wrong: 0,
  agreed: 0,
  disagreed: 0,
  proven: 0,
  seenAt: '',
  leaseUntil: '',
  given: null,
  ...more,
})
const waiter = (workerId: number, more: Partial<Worker> = {}, trusted = true): Candidate => ({
  worker: worker(workerId, more),
  isTrusted: trusted,
})
const lane = (laneId: number, clientId: number | null, more: Partial<Lane> = {}): Lane => ({
  laneId,
  clientId,
  region: null,
  specs: null,
  ...more,
})
const head = (laneId: number, jobId: string, more: Partial<Head> = {}): Head => ({
  laneId,
  jobId,
  priority: 5,
  acceptedAt: 0,
  leaseUntil: '',
  replica: null,
  ...more,
})
const canary = (canaryId: number, usedBy: readonly number[] = []): WaitingCanary => ({
  laneId: 99,
  jobId: `canary ${canaryId}`,
  priority: 5,
  canaryId,
  leaseUntil: '',
  usedBy: new Set(usedBy),
})
const offer = (more: Partial<Offer>): Offer => ({
  lanes: [lane(1, 1)],
  heads: [],
  canaries: [],
  turns: new Turns(),
  canaryPercent: 0,
  random: () => 0,
  ...more,
})
const pairsOf = (waiters: Candidate[], given: Offer) =>
  match(waiters, given).map(({ waiter: { worker: one }, gift }) => `${one.workerId}: ${gift.jobId}`)

describe('matching', () => {
  test('who came first gets the best, by priority and then by age', () => {
    const heads = [head(1, 'a'), head(1, 'b'), head(2, 'c', { priority: 9 }), head(2, 'd', { acceptedAt: -1 })]

    const pairs = pairsOf(
      [waiter(1), waiter(2), waiter(3), waiter(4)],
      offer({ lanes: [lane(1, 1), lane(2, 1)], heads }),
    )

    assert.deepEqual(pairs, ['1: c', '2: d', '3: a', '4: b'])
  })

  test('clients take turns, whatever their priorities', () => {
    const heads = [1, 2, 3].flatMap((n) => [head(1, `a${n}`, { priority: 9 }), head(2, `b${n}`, { priority: 1 })])
    const waiters = [1, 2, 3, 4, 5, 6].map((id) => waiter(id))

    const pairs = pairsOf(waiters, offer({ lanes: [lane(1, 1), lane(2, 2)], heads }))

    assert.deepEqual(pairs, ['1: a1', '2: b1', '3: a2', '4: b2', '5: a3', '6: b3'])
  })

  test('a worker waits where it may not take what is there, and others are served', () => {
    const heads = [head(1, 'far', { priority: 9 }), head(2, 'any')]
    const lanes = [lane(1, 1, { region: 'far' }), lane(2, 1)]

    assert.deepEqual(pairsOf([waiter(1), waiter(2, { region: 'far' })], offer({ lanes, heads })), ['2: far', '1: any'])
  })

  test('replicas of one job go to different owners, also within one pass', () => {
    const replica = { quorumId: 'q', quorum: 2, owners: [7], untrusted: 0 }
    const heads = [head(1, 'r1', { replica }), head(1, 'r2', { replica })]
    const waiters = [
      waiter(1, { ownerId: 7 }),
      waiter(2, { ownerId: 8 }),
      waiter(3, { ownerId: 8 }),
      waiter(4, { ownerId: 9 }),
    ]

    assert.deepEqual(pairsOf(waiters, offer({ heads })), ['2: r1', '4: r2'])
  })

  test('of those who are not trusted a job gets one fewer than its quorum', () => {
    const replica = { quorumId: 'q', quorum: 3, owners: [], untrusted: 1 }
    const heads = [1, 2, 3].map((n) => head(1, `r${n}`, { replica }))
    const waiters = [waiter(1, {}, false), waiter(2, {}, false), waiter(3)]

    assert.deepEqual(pairsOf(waiters, offer({ heads })), ['1: r1', '3: r2'])
    const single = [head(1, 's1', { replica: { ...replica, quorum: 1, untrusted: 5 } })]
    assert.deepEqual(pairsOf([waiter(1, {}, false)], offer({ heads: single })), ['1: s1'])
  })

  test('a canary takes the place of a job, at its cost; the job goes to the next', () => {
    const given = offer({
      lanes: [lane(1, 1), lane(99, null)],
      heads: [head(1, 'job', { priority: 77 })],
      canaries: [canary(1, [1]), canary(2)],
      canaryPercent: 100,
    })

    const pairs = match([waiter(1), waiter(2)], given)

    assert.deepEqual(
      pairs.map(({ gift }) => [gift.jobId, gift.canaryId, gift.costHint]),
      [
        ['canary 2', 2, 77],
        ['canary 1', 1, 77],
      ],
    )
  })

  test('so many of the assignments of a trusted worker are canaries, and half of those on probation', () => {
    const random = seeded(7)
    const share = (trusted: boolean) => {
      const rounds = 4000
      let canaries = 0
      for (let round = 0; round < rounds; round += 1) {
        const lanes = [lane(1, 1), lane(99, null)]
        const given = offer({ lanes, heads: [head(1, 'j')], canaries: [canary(1)], canaryPercent: 5, random })
        if (match([waiter(1, {}, trusted)], given)[0]?.gift.canaryId === 1) canaries += 1
      }
      return canaries / rounds
    }

    assert(Math.abs(share(true) - 0.05) < 0.015)
    assert(Math.abs(share(false) - 0.5) < 0.03)
  })

  test('who is on probation and finds nothing gets a canary; a trusted worker does not', () => {
    const given = offer({ lanes: [lane(99, null)], canaries: [canary(1), canary(2)], random: () => 0.99 })

    assert.deepEqual(pairsOf([waiter(1), waiter(2, {}, false)], given), ['2: canary 2'])
  })
})

describe('turns', () => {
  test('a client that comes late starts where the others are', () => {
    const turns = new Turns()
    for (let n = 0; n < 100; n += 1) turns.take(1)

    turns.take(2)
    assert(turns.of(1) - turns.of(2) <= 1, 'it is not paid for its absence')
    assert(turns.of(3) <= turns.of(1))
  })

  test('no client waits longer than a round, whatever the others do', () => {
    const turns = new Turns()
    const served = [0, 0, 0]
    for (let n = 0; n < 300; n += 1) {
      const next = [0, 1, 2].reduce((best, client) => (turns.of(client) < turns.of(best) ? client : best), 0)
      turns.take(next)
      served[next] = (served[next] ?? 0) + 1
    }
    assert.deepEqual(served, [100, 100, 100])
  })
})

describe('specs', () => {
  const able = (specs: Record<string, unknown>, offered: Record<string, unknown> | null) =>
    isEligible({ region: null, specs }, { region: 'any', specs: offered })

  test('numbers at least as much, texts the same or in the list, lists within, objects by member', () => {
    assert(able({ ram: 8 }, { ram: 8, more: 1 }))
    assert(!able({ ram: 8 }, { ram: 7.9 }))
    assert(!able({ ram: 8 }, { ram: '8' }))
    assert(!able({ ram: 8 }, null))
    assert(able({}, null))
    assert(able({ os: 'linux' }, { os: ['linux', 'mac'] }))
    assert(!able({ os: 'win' }, { os: ['linux', 'mac'] }))
    assert(able({ os: ['mac'] }, { os: ['linux', 'mac'] }))
    assert(!able({ os: ['mac'] }, { os: 'mac' }))
    assert(able({ gpu: { vram: 40 } }, { gpu: { vram: 80, model: 'x' } }))
    assert(!able({ gpu: { vram: 40, model: 'y' } }, { gpu: { vram: 80, model: 'x' } }))
    assert(able({ gpu: { vram: 40 } }, { gpu: [{ vram: 16 }, { vram: 80 }] }))
    assert(able({ a: null, b: true }, { a: null, b: true }))
    assert(!able({ a: null }, {}))
    assert(!able({ toString: 'x' }, {}))
  })
})

describe('what replicas say together', () => {
  const votes = (...said: (string | null)[]) => said.map((vote) => ({ vote, counts: true }))
  const count = (more: Partial<Count>): Count => ({
    votes: [],
    quorum: 2,
    replicas: 3,
    replicasMax: 5,
    issued: 3,
    outstanding: 0,
    ...more,
  })

  test('the first answer that enough agree on wins', () => {
    assert.deepEqual(decide(count({ votes: votes('a', 'b', 'b', 'a') })), { what: 'agreed', vote: 'b', failed: false })
    assert.deepEqual(decide(count({ votes: votes(FAILED_VOTE, FAILED_VOTE) })), {
      what: 'agreed',
      vote: FAILED_VOTE,
      failed: true,
    })
  })

  test('replicas that are missing are made; one more where those that are left cannot decide; then it is split', () => {
    assert.deepEqual(decide(count({ issued: 0 })), { what: 'issue', count: 3 })
    assert.deepEqual(decide(count({ votes: votes('a', 'b'), outstanding: 1 })), { what: 'wait' })
    assert.deepEqual(decide(count({ votes: votes('a', 'b', 'c') })), { what: 'issue', count: 1 })
    assert.deepEqual(decide(count({ votes: votes('a', 'b', 'c', 'd', 'e'), issued: 5 })), {
      what: 'split',
      results: 5,
      most: 1,
    })
    assert.deepEqual(decide(count({ votes: votes('a'), issued: 5, outstanding: 0 })), {
      what: 'split',
      results: 1,
      most: 1,
    })
  })

  test('the word of a banned worker, and a vote that counts for nothing, are not counted', () => {
    const banned = [...votes('a'), { vote: 'a', counts: false }, ...votes(null, null)]

    assert.deepEqual(decide(count({ votes: banned, issued: 4 })), { what: 'issue', count: 1 })
  })
})

describe('reputation', () => {
  const record = { passed: 0, wrong: 0, agreed: 0, disagreed: 0, proven: 0 }

  test('is (1 + passed + agreed) / (2 + passed + agreed + 3 · disagreed + 10 · wrong)', () => {
    assert.equal(scoreOf(record), 0.5)
    assert.equal(scoreOf({ ...record, passed: 3, agreed: 5 }), 0.9)
    assert.equal(scoreOf({ ...record, agreed: 6, disagreed: 2 }), 0.5)
    assert.equal(scoreOf({ ...record, wrong: 1 }), 1 / 12)
  })

  test('trust takes canaries since the last disagreement, as many as there are, and a score; without canaries everyone is trusted', () => {
    assert(isTrusted(record, 0, 5))
    assert(!isTrusted(record, 10, 5))
    assert(isTrusted({ ...record, passed: 5, proven: 5 }, 10, 5))
    assert(!isTrusted({ ...record, passed: 50, agreed: 50, disagreed: 1, proven: 0 }, 10, 5))
    assert(isTrusted({ ...record, passed: 2, proven: 2 }, 2, 5))
    assert(!isTrusted({ ...record, passed: 5, proven: 5, disagreed: 3 }, 10, 5))
  })
})

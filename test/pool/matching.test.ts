// Matching without a database: fair share, eligibility, replicas and canaries.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { WaitingCanary } from '../../src/doors/pool/matching/candidates.ts'
import type { RequirementClass } from '../../src/doors/pool/tasks/requirement-classes.ts'
import { match, type Candidate, type MatchInput } from '../../src/doors/pool/matching/match.ts'
import type { Worker } from '../../src/doors/pool/workers/presence.ts'
import { isTrusted, scoreOf } from '../../src/doors/pool/workers/reputation.ts'
import { isEligible } from '../../src/doors/pool/tasks/requirements.ts'
import { decide, FAILED_VOTE, type Tally, type Vote } from '../../src/doors/pool/quorum/tally.ts'
import { FairShare } from '../../src/doors/pool/matching/fair-share.ts'
import { seeded } from '../support/seeded.ts'
import { task, worker } from './unstored.ts'

const candidate = (workerId: number, more: Partial<Worker> = {}, trusted = true): Candidate => ({
  worker: worker(workerId, more),
  isTrusted: trusted,
})
const requirementClass = (
  classId: number,
  clientId: number | null,
  more: Partial<RequirementClass> = {},
): RequirementClass => ({
  classId,
  clientId,
  region: null,
  specs: null,
  ...more,
})
const canary = (canaryId: number, usedBy: readonly number[] = []): WaitingCanary => ({
  classId: 99,
  jobId: `canary ${canaryId}`,
  priority: 5,
  canaryId,
  now: new Date(0),
  usedBy: new Set(usedBy),
})
const input = (more: Partial<MatchInput>): MatchInput => ({
  classes: [requirementClass(1, 1)],
  tasks: [],
  canaries: [],
  fairShare: new FairShare(),
  canaryPercent: 0,
  random: () => 0,
  ...more,
})
const pairsOf = (candidates: Candidate[], given: MatchInput) =>
  match(candidates, given).map(({ candidate: { worker: one }, assignable }) => `${one.workerId}: ${assignable.jobId}`)

describe('matching', () => {
  test('the worker that came first gets the first task by priority, then by age', () => {
    const tasks = [task(1, 'a'), task(1, 'b'), task(2, 'c', { priority: 9 }), task(2, 'd', { acceptedAt: -1 })]

    const pairs = pairsOf(
      [candidate(1), candidate(2), candidate(3), candidate(4)],
      input({ classes: [requirementClass(1, 1), requirementClass(2, 1)], tasks }),
    )

    assert.deepEqual(pairs, ['1: c', '2: d', '3: a', '4: b'])
  })

  test('clients are served in turns, whatever their priorities', () => {
    const tasks = [1, 2, 3].flatMap((n) => [task(1, `a${n}`, { priority: 9 }), task(2, `b${n}`, { priority: 1 })])
    const candidates = [1, 2, 3, 4, 5, 6].map((id) => candidate(id))

    const pairs = pairsOf(candidates, input({ classes: [requirementClass(1, 1), requirementClass(2, 2)], tasks }))

    assert.deepEqual(pairs, ['1: a1', '2: b1', '3: a2', '4: b2', '5: a3', '6: b3'])
  })

  test('a worker that is not eligible for the first task does not hold up the others', () => {
    const tasks = [task(1, 'far', { priority: 9 }), task(2, 'any')]
    const classes = [requirementClass(1, 1, { region: 'far' }), requirementClass(2, 1)]

    assert.deepEqual(pairsOf([candidate(1), candidate(2, { region: 'far' })], input({ classes, tasks })), [
      '2: far',
      '1: any',
    ])
  })

  test('replicas of one job go to different owners, also within one pass', () => {
    const replica = { quorumId: 'q', quorum: 2, owners: [7], untrusted: 0 }
    const tasks = [task(1, 'r1', { replica }), task(1, 'r2', { replica })]
    const candidates = [
      candidate(1, { ownerId: 7 }),
      candidate(2, { ownerId: 8 }),
      candidate(3, { ownerId: 8 }),
      candidate(4, { ownerId: 9 }),
    ]

    assert.deepEqual(pairsOf(candidates, input({ tasks })), ['2: r1', '4: r2'])
  })

  test('workers that are not trusted get at most quorum - 1 replicas of a job', () => {
    const replica = { quorumId: 'q', quorum: 3, owners: [], untrusted: 1 }
    const tasks = [1, 2, 3].map((n) => task(1, `r${n}`, { replica }))
    const candidates = [candidate(1, {}, false), candidate(2, {}, false), candidate(3)]

    assert.deepEqual(pairsOf(candidates, input({ tasks })), ['1: r1', '3: r2'])
    const single = [task(1, 's1', { replica: { ...replica, quorum: 1, untrusted: 5 } })]
    assert.deepEqual(pairsOf([candidate(1, {}, false)], input({ tasks: single })), ['1: s1'])
  })

  test('a canary takes the place of a job, with its cost hint; the job is offered to the next worker', () => {
    const given = input({
      classes: [requirementClass(1, 1), requirementClass(99, null)],
      tasks: [task(1, 'job', { priority: 77 })],
      canaries: [canary(1, [1]), canary(2)],
      canaryPercent: 100,
    })

    const pairs = match([candidate(1), candidate(2)], given)

    assert.deepEqual(
      pairs.map(({ assignable }) => [assignable.jobId, assignable.canaryId, assignable.costHint]),
      [
        ['canary 2', 2, 77],
        ['canary 1', 1, 77],
      ],
    )
  })

  test('a trusted worker gets the configured percentage of canaries, a worker on probation half', () => {
    const random = seeded(7)
    const share = (trusted: boolean) => {
      const rounds = 4000
      let canaries = 0
      for (let round = 0; round < rounds; round += 1) {
        const classes = [requirementClass(1, 1), requirementClass(99, null)]
        const given = input({ classes, tasks: [task(1, 'j')], canaries: [canary(1)], canaryPercent: 5, random })
        if (match([candidate(1, {}, trusted)], given)[0]?.assignable.canaryId === 1) canaries += 1
      }
      return canaries / rounds
    }

    assert(Math.abs(share(true) - 0.05) < 0.015)
    assert(Math.abs(share(false) - 0.5) < 0.03)
  })

  test('a worker on probation that finds no job gets a canary; a trusted worker does not', () => {
    const given = input({ classes: [requirementClass(99, null)], canaries: [canary(1), canary(2)], random: () => 0.99 })

    assert.deepEqual(pairsOf([candidate(1), candidate(2, {}, false)], given), ['2: canary 2'])
  })
})

describe('fairShare', () => {
  test('a client that comes late starts where the others are', () => {
    const fairShare = new FairShare()
    for (let n = 0; n < 100; n += 1) fairShare.charge(1)

    fairShare.charge(2)
    assert(fairShare.servedOf(1) - fairShare.servedOf(2) <= 1, 'it is not paid for its absence')
    assert(fairShare.servedOf(3) <= fairShare.servedOf(1))
  })

  test('no client waits longer than a round, whatever the others do', () => {
    const fairShare = new FairShare()
    const served = [0, 0, 0]
    for (let n = 0; n < 300; n += 1) {
      const next = [0, 1, 2].reduce(
        (best, client) => (fairShare.servedOf(client) < fairShare.servedOf(best) ? client : best),
        0,
      )
      fairShare.charge(next)
      served[next] = (served[next] ?? 0) + 1
    }
    assert.deepEqual(served, [100, 100, 100])
  })
})

describe('specs', () => {
  const able = (specs: Record<string, unknown>, offered: Record<string, unknown> | null) =>
    isEligible({ region: null, specs }, { region: 'any', specs: offered })

  test('numbers must be at least as large, texts equal or in the list, lists contained, objects match by member', () => {
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

describe('the decision of a quorum', () => {
  const votes = (...said: (string | null)[]) => said.map((vote) => ({ vote, counts: true }))
  const count = (more: Partial<Tally<Vote>>): Tally<Vote> => ({
    votes: [],
    agree: (a, b) => a.vote === b.vote,
    quorum: 2,
    replicas: 3,
    replicasMax: 5,
    issued: 3,
    outstanding: 0,
    ...more,
  })

  test('the first answer that enough agree on wins', () => {
    assert.deepEqual(decide(count({ votes: votes('a', 'b', 'b', 'a') })), {
      what: 'agreed',
      winner: { vote: 'b', counts: true },
    })
    assert.deepEqual(decide(count({ votes: votes(FAILED_VOTE, FAILED_VOTE) })), {
      what: 'agreed',
      winner: { vote: FAILED_VOTE, counts: true },
    })
  })

  test('missing replicas are issued, then one more at a time while the rest cannot decide, then it is split', () => {
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

  test('the vote of a banned worker, and results that agree with nothing, are not counted', () => {
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

  test('trust needs a score and enough canaries since the last disagreement, or all there are; without canaries everyone is trusted', () => {
    assert(isTrusted(record, 0, 5))
    assert(!isTrusted(record, 10, 5))
    assert(isTrusted({ ...record, passed: 5, proven: 5 }, 10, 5))
    assert(!isTrusted({ ...record, passed: 50, agreed: 50, disagreed: 1, proven: 0 }, 10, 5))
    assert(isTrusted({ ...record, passed: 2, proven: 2 }, 2, 5))
    assert(!isTrusted({ ...record, passed: 5, proven: 5, disagreed: 3 }, 10, 5))
  })
})

// Which statements a pass of the matching needs, without a database.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Candidates } from '../../src/doors/pool/matching/candidates.ts'
import { WaitingPolls } from '../../src/doors/pool/matching/waiting-polls.ts'
import { openWanted } from '../../src/doors/pool/matching/wanted.ts'
import type { RequirementClass } from '../../src/doors/pool/tasks/requirement-classes.ts'
import type { Worker } from '../../src/doors/pool/workers/presence.ts'
import { task, worker } from './unstored.ts'

const never = new AbortController().signal

function setup(workers: readonly Worker[]) {
  const waiting = new Map<number, RequirementClass>()
  const asked: number[][] = []
  const taskOf = (classId: number) => task(classId, `job of ${classId}`)
  const candidates: Candidates = {
    async waitingClasses(_after, expected) {
      const wanted = expected.classes.map(({ classId }) => classId)
      asked.push(wanted)
      return { classIds: [...waiting.keys()], next: 0, tasks: wanted.filter((id) => waiting.has(id)).map(taskOf) }
    },
    firstTasks: () => assert.fail('read by the pass itself'),
    canaries: () => assert.fail('there are none'),
  }
  const classes = {
    classFor: () => assert.fail('nothing is submitted'),
    byId: async (ids: readonly number[]) => ids.flatMap((id) => waiting.get(id) ?? []),
    loop: { name: 'none', everyMs: 1000, runOnce: async () => false },
  }
  const polls = new WaitingPolls()
  for (const one of workers) void polls.wait(one, true, { timeoutMs: Infinity, signal: never })
  const add = (classId: number, region: string | null = null) =>
    waiting.set(classId, { classId, clientId: 1, region, specs: null })
  return { look: openWanted({ candidates, classes }, polls), polls, add, waiting, asked }
}

describe('what a pass reads', () => {
  test('tasks of the classes of the last pass come with the classes', async () => {
    const { look, add, asked } = setup([worker(1)])
    add(1)

    const [first, second] = [await look(0), await look(0)]

    assert.deepEqual(asked, [[], [1]])
    assert.equal(first.wanted.tasks, undefined)
    assert.deepEqual(
      second.wanted.tasks?.map(({ jobId }) => jobId),
      ['job of 1'],
    )
  })

  test('a pass that found nothing forgets no class', async () => {
    const { look, add, waiting, asked } = setup([worker(1)])
    add(1)
    await look(0)
    waiting.clear()

    const nothing = await look(0)
    await look(0)

    assert.equal(nothing.eligible, 0)
    assert.deepEqual(asked, [[], [1], [1]])
  })

  test('where a task waits in another class too, all are read again, for all who wait', async () => {
    const { look, add } = setup([worker(1), worker(2, { region: 'eu' })])
    add(1)
    await look(0)
    add(2, 'eu')

    const { wanted, eligible } = await look(0)

    assert.equal(wanted.tasks, undefined)
    assert.equal(eligible, 2)
    assert.deepEqual(wanted.classes, [
      { classId: 1, limit: 2 },
      { classId: 2, limit: 1 },
    ])
  })

  test('a poll that came while the tasks were read is left to the next pass', async () => {
    const { look, add, polls } = setup([worker(1)])
    add(1)
    await look(0)

    const looking = look(0)
    void polls.wait(worker(2), true, { timeoutMs: Infinity, signal: never })

    assert.equal((await looking).eligible, 1)
    assert.equal((await look(0)).eligible, 2)
  })

  test('of very many polls each pass serves others, and none is compared beforehand', async () => {
    const { look, add, asked } = setup(Array.from({ length: 700 }, (_, n) => worker(n + 1)))
    add(1)
    await look(0)

    const { wanted, eligible } = await look(500)

    assert.deepEqual(asked, [[], []])
    assert.equal(eligible, 700)
    assert.deepEqual([wanted.polls.length, wanted.polls[0]?.worker.workerId], [500, 501])
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCapacity } from '../../src/core/feed/redis/capacity.ts'
import type { KindQueue } from '../../src/core/feed/redis/queue.ts'

test('what is announced while the length of the queue is asked for counts against the room that the answer leaves', async () => {
  const asked: ((backlog: number) => void)[] = []
  const unused = () => assert.fail('not asked')
  const queue: KindQueue = {
    backlog: () => new Promise((resolve) => asked.push(resolve)),
    announce: unused,
    oldestWaitingMs: unused,
    findLost: unused,
    sweep: unused,
    forgetsWhatWasRead: false,
    openTaker: unused,
  }
  const capacity = openCapacity(() => queue, 10)

  const first = capacity.hasRoom('judge')
  capacity.use('judge', 11)
  asked[0]?.(1)
  const second = first.then(() => capacity.hasRoom('judge'))
  await first
  await new Promise((resolve) => setImmediate(resolve))
  asked[1]?.(12)

  assert.deepEqual([await first, asked.length], [true, 2])
  assert.equal(await second, false)
})

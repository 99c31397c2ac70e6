// How far the judging of a submission is, as an admin's page of the job shows it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { submissionContexts } from '../../../src/doors/judge/submissions/context.ts'

const CHANNEL = 'judge:j'
const JOB = { jobId: 'j', kind: 'judge', state: 'processing', payload: {} } as const

/** The log of a submission: each event tells of two tests. */
function open() {
  const log: { id: number; payload: unknown }[] = []
  const read: number[] = []
  const contextOf = submissionContexts({
    async since(channel, id, limit) {
      const found = channel === CHANNEL ? log.filter((event) => event.id > id).slice(0, limit) : []
      read.push(found.length)
      return found.map((event) => ({ ...event, channel, type: 'progress', at: new Date(0) }))
    },
  })
  const tell = (attemptId: number, times: number) => {
    for (let n = 0; n < times; n += 1)
      log.push({ id: 3 * log.length + 7, payload: { attempt_id: attemptId, total: 9000, tests: [{}, {}] } })
  }
  const progress = async () => (await contextOf([JOB])).get('j')?.progress
  return { tell, read, progress }
}

const done = (tests: number) => ({ done: tests, total: 9000, unit: 'tests' })

describe('the progress of a submission', () => {
  test('is that of the last attempt, after any number of events', async () => {
    const { tell, progress } = open()
    assert.equal(await progress(), null)
    tell(1, 1500)
    tell(2, 1200)
    assert.deepEqual(await progress(), done(2400))
    tell(1, 1) // of a process that does not know yet
    tell(2, 1)
    assert.deepEqual(await progress(), done(2402))
    tell(3, 1)
    assert.deepEqual(await progress(), done(2))
  })

  test('takes only what came since to be read, each time that a page looks', async () => {
    const { tell, read, progress } = open()
    tell(1, 2500)
    await progress()
    tell(1, 3)
    assert.deepEqual(await progress(), done(5006))
    await progress()

    assert.deepEqual(read, [1000, 1000, 500, 3, 0])
  })
})

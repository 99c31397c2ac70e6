// What the console shows of a client's jobs, where a page of the server holds few of them, and of an owner's workers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PoolJobPage } from '@reeve/sdk'
import { withHeartbeats } from '../../console/src/routes/front/heartbeats.ts'
import { openChangedJobs } from '../../console/src/routes/pool/jobs/changed-jobs.ts'
import { newestJobs } from '../../console/src/routes/pool/jobs/newest-jobs.ts'

const job = (id: string) => ({
  job_id: id,
  status: 'pending' as const,
  priority: 0,
  created_at: '2026-01-01T00:00:00Z',
})
const pageOf = (ids: readonly string[], next: string | null): PoolJobPage => ({ jobs: ids.map(job), next_before: next })
const idsOf = (jobs: PoolJobPage['jobs']) => jobs.map(({ job_id: id }) => id)

/** Answers with one page after the other. */
function server(...pages: PoolJobPage[]) {
  const asked: (string | undefined)[] = []
  const load = async ({ before }: { before?: string }) => pages[asked.push(before) - 1] ?? pageOf([], null)
  return { asked, load }
}

describe('the newest jobs of a client', () => {
  test('are found on later pages, if the first one is empty and has a next', async () => {
    const { asked, load } = server(pageOf([], 'x'), pageOf(['c'], 'y'), pageOf(['b', 'a'], null))

    assert.deepEqual(idsOf(await newestJobs(load, 2)), ['c', 'b'])
    assert.deepEqual(asked, [undefined, 'x', 'y'])
  })

  test('are searched for on no more pages than that, and on no more than are needed', async () => {
    const endless = server(...Array.from({ length: 9 }, () => pageOf([], 'x')))
    const full = server(pageOf(['d', 'c'], 'c'))
    const whole = server(pageOf(['d'], null))

    assert.deepEqual(await newestJobs(endless.load, 2), [])
    assert.equal(endless.asked.length, 3)
    assert.deepEqual(idsOf(await newestJobs(full.load, 2)), ['d', 'c'])
    assert.deepEqual(idsOf(await newestJobs(whole.load, 2)), ['d'])
    assert.deepEqual([full.asked.length, whole.asked.length], [1, 1])
  })
})

describe('jobs that have changed', () => {
  test('are read one by one where the newest page does not hold them, once', async () => {
    const read: string[] = []
    const changed = openChangedJobs(async (id) => (read.push(id), id === 'gone' ? null : job(id)))
    changed.note({ job_ids: ['new', 'old', 'ended', 'gone'] })
    changed.note({}) // of another message
    const open = ['new', 'old', 'gone', 'unchanged']

    assert.deepEqual(idsOf(await changed.readBeyond(pageOf(['new'], 'x'), open)), ['old'])
    assert.deepEqual(read, ['old', 'gone'])
    assert.deepEqual(await changed.readBeyond(pageOf([], 'x'), open), [])
  })

  test('are read again if they change while they are read, and are not all read at once', async () => {
    let atOnce = 0
    let most = 0
    const ids = Array.from({ length: 35 }, (_, n) => `job ${n}`)
    const changed = openChangedJobs(async (id) => {
      most = Math.max(most, (atOnce += 1))
      changed.note({ job_ids: id === 'job 7' ? [id] : [] })
      await Promise.resolve()
      atOnce -= 1
      return job(id)
    })
    changed.note({ job_ids: ids })

    assert.deepEqual(idsOf(await changed.readBeyond(pageOf([], 'x'), ids)), ids)
    assert.deepEqual(idsOf(await changed.readBeyond(pageOf([], 'x'), ids)), ['job 7'])
    assert.equal(most, 10)
  })
})

describe('a heartbeat', () => {
  const ONLINE = { tone: 'good', word: 'Online' } as const
  const items = [
    { key: '1', state: ONLINE, at: 'before' },
    { key: '2', state: ONLINE, at: 'before' },
  ]
  const beat = (id: number, status: string) => ({ worker_id: id, status, paused: false, last_seen_at: 'now' })

  test('says when a worker was seen', () => {
    assert.deepEqual(withHeartbeats(items, { workers: [beat(2, 'online'), beat(3, 'offline')] }), [
      items[0],
      { key: '2', state: ONLINE, at: 'now' },
    ])
  })

  test('of a worker that is in another state, or a message without workers, asks for the list', () => {
    assert.equal(withHeartbeats(items, { workers: [beat(2, 'offline')] }), null)
    assert.equal(withHeartbeats(items, {}), null)
  })
})

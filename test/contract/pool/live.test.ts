// What owners and clients watch over /live, of their own and of nobody else's.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { ReeveClient, type LiveMessage } from '@reeve/sdk'
import { WebSocket } from 'ws'
import { atEnd } from '../../support/cleanup.ts'
import { until } from '../../support/until.ts'
import { setup, type Credentials, type Pool } from './setup.ts'

interface Watched {
  messages: LiveMessage[]
  refusals: string[]
}

function follow(t: TestContext, pool: Pool, by: Credentials, topic: string, params: object): Watched {
  const token = by['authorization']?.replace('Bearer ', '') ?? ''
  const live = new ReeveClient({ url: pool.url, token }).live({ WebSocket })
  atEnd(t, () => live.close())
  const watched: Watched = { messages: [], refusals: [] }
  live.follow({
    topic,
    params,
    onMessage: (message) => watched.messages.push(message),
    onRefused: (code) => watched.refusals.push(code),
  })
  return watched
}

/** The members of a list in all messages of a type. */
const listed = ({ messages }: Watched, type: string, list: 'workers' | 'job_ids'): unknown[] =>
  messages.flatMap(({ type: is, payload }) => {
    if (is !== type || typeof payload !== 'object' || payload === null) return []
    const members: unknown = Object.entries(payload).find(([name]) => name === list)?.[1]
    return Array.isArray(members) ? members : []
  })

describe('what pages watch', () => {
  test('pool 2.13: an owner sees workers come, pause and do their work; other owners do not', async (t) => {
    const pool = await setup(t)
    const stranger = await pool.account('stranger', 'WORKER_OWNER')
    const [worker, theirs] = [await pool.worker('w'), await pool.worker('theirs', {}, stranger)]
    const params = { worker_ids: [worker.id, theirs.id] }
    const owner = follow(t, pool, pool.owner, 'pool_workers', params)
    const other = follow(t, pool, stranger, 'pool_workers', params)
    const hasSeen = (fields: object) => () =>
      listed(owner, 'changed', 'workers').some((one) => {
        const shown = typeof one === 'object' && one !== null ? new Map(Object.entries(one)) : new Map()
        return Object.entries(fields).every(([name, value]) => shown.get(name) === value)
      })

    await until('it is seen offline', hasSeen({ worker_id: worker.id, status: 'offline', completed: 0 }))
    await pool.beat(worker)
    await until('it is online', hasSeen({ worker_id: worker.id, status: 'online', standing: 'trusted' }))
    await pool.submitJob()
    await pool.submit(worker, (await pool.poll(worker, 10)).body)
    await until('its work is counted', hasSeen({ worker_id: worker.id, completed: 1 }))
    await pool.ask('PATCH', `/workers/${worker.id}`, { paused: true }, pool.owner)
    await until('it is paused', hasSeen({ worker_id: worker.id, paused: true }))
    await until('the stranger sees theirs', () => listed(other, 'changed', 'workers').length > 0)

    const idsOf = (watched: Watched) =>
      new Set(
        listed(watched, 'changed', 'workers').map(
          (one) => Object.entries(one ?? {}).find(([name]) => name === 'worker_id')?.[1],
        ),
      )
    assert.deepEqual(idsOf(owner), new Set([worker.id]))
    assert.deepEqual(idsOf(other), new Set([theirs.id]))
  })

  test('pool 6.12: a client is told of changed and new jobs and of receipts; other clients are not', async (t) => {
    const pool = await setup(t)
    const stranger = await pool.account('stranger', 'CLIENT')
    const worker = await pool.worker('w')
    const jobId = await pool.submitJob()
    const client = follow(t, pool, pool.client, 'pool_jobs', { job_ids: [jobId], receipts: true, new: true })
    const other = follow(t, pool, stranger, 'pool_jobs', { job_ids: [jobId], receipts: true, new: true })
    const told = () => listed(client, 'changed', 'job_ids').length
    const tell = async (what: string, act: () => Promise<unknown>) => {
      const before = told()
      await act()
      await until(what, () => told() > before)
    }

    await until('it is told at first', () => told() === 1)
    const answers: { assignment_id: number; nonce: string }[] = []
    await tell('it runs', async () => answers.push((await pool.poll(worker, 10)).body))
    await tell('it is done', async () => answers[0] !== undefined && pool.submit(worker, answers[0]))
    const second = await pool.submitJob()
    await until('the new one is told', () => listed(client, 'new', 'job_ids').includes(second))
    const theirs = await pool.submitJob({}, stranger)
    await until('theirs is told', () => listed(other, 'new', 'job_ids').includes(theirs))

    assert(listed(client, 'changed', 'job_ids').every((one) => one === jobId))
    assert.deepEqual(listed(other, 'changed', 'job_ids'), [])
    assert.deepEqual(listed(client, 'new', 'job_ids'), [second])
    assert.deepEqual(listed(other, 'new', 'job_ids'), [theirs])
  })

  test('pool 2.13, 6.12: another role, too many ids and wrong ids are refused', async (t) => {
    const pool = await setup(t)
    const many = Array.from({ length: 201 }, (_, index) => index + 1)
    const refused = [
      follow(t, pool, pool.client, 'pool_workers', { worker_ids: [] }),
      follow(t, pool, pool.owner, 'pool_jobs', { job_ids: [] }),
      follow(t, pool, pool.owner, 'pool_workers', { worker_ids: many }),
      follow(t, pool, pool.owner, 'pool_workers', { worker_ids: ['1; drop table jobs'] }),
      follow(t, pool, pool.owner, 'pool_workers', { worker_ids: [1e300] }),
      follow(t, pool, pool.client, 'pool_jobs', { job_ids: ['x'] }),
    ]
    await until('all are answered', () => refused.every(({ refusals }) => refusals.length > 0))

    assert.deepEqual(
      refused.flatMap(({ refusals }) => refusals),
      ['forbidden', 'forbidden', 'invalid_params', 'invalid_params', 'invalid_params', 'invalid_params'],
    )
  })
})

// A worker is killed at each step of a job's way, with more jobs in flight behind it. Whatever it left, the next worker ends.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { v7 } from 'uuid'
import type { JobState } from '../../src/core/ledger/job.ts'
import { until } from '../support/until.ts'
import { FEED_FORMS, setup, TIMEOUT, type Rig } from './rig.ts'
import type { KillStep } from './worker-process.ts'

interface Left {
  step: KillStep
  state: JobState
  /** Whether the feed still has the job's entry (Redis). */
  entry: boolean
  /** What becomes of it once another worker comes. */
  history: readonly string[]
}

const ONCE = ['submitted', 'acquired', 'done']
const TWICE = ['submitted', 'acquired', 'lease_expired', 'acquired', 'done']

const LEFT: readonly Left[] = [
  { step: 'acquiring', state: 'pending', entry: true, history: ONCE },
  { step: 'acquired', state: 'processing', entry: true, history: TWICE },
  { step: 'working', state: 'processing', entry: true, history: TWICE },
  { step: 'worked', state: 'processing', entry: true, history: TWICE },
  { step: 'finalized', state: 'done', entry: true, history: ONCE },
  { step: 'acknowledged', state: 'done', entry: false, history: ONCE },
]

const JOBS = 6
const LONG_LEASE = { leaseSec: 30 }

for (const feed of FEED_FORMS) {
  describe(`a process killed, with ${feed} as the feed`, () => {
    for (const { step, state, entry, history } of LEFT) {
      test(`a worker that dies when it is at "${step}" leaves a job that ends once`, TIMEOUT, async (t) => {
        const rig = await setup(t, feed, LONG_LEASE)
        const jobIds = await rig.submit(JOBS)
        const first = rig.worker({ stop: { at: step, how: 'die' }, slots: JOBS })
        const { jobId = null } = await first.heard(step)
        assert.equal((await first.exited).signal, 'SIGKILL')
        const job = jobId ?? jobIds[0] ?? ''

        assert.equal((await rig.ledger.get(job))?.state, state)
        if (rig.streams?.keepsWhatWasRead === true) {
          const isThere = (await rig.streams.pendingJobs()).includes(job)
          assert.equal(isThere, entry, entry ? 'the entry of the job is still there' : 'its entry was acknowledged')
        }
        await rig.untilAllGone()
        await rig.buryHolders()
        const second = rig.worker()
        await rig.assertEndedOnce(jobIds)

        assert.deepEqual(await historyOf(rig, job), history)
        await second.stop()
      })
    }

    test('a job with a live holder is left to it, whoever else asks for it', TIMEOUT, async (t) => {
      const rig = await setup(t, feed, LONG_LEASE)
      const [jobId = ''] = await rig.submit(1)
      const holder = rig.worker({ stop: { at: 'working', how: 'hold' }, slots: 1 })
      await holder.heard('working')

      const other = rig.worker()
      await other.heard('ready')
      await rig.streams?.announceAgain(jobId)
      await other.heard('asked')
      holder.goOn()
      await rig.untilAllEnded()
      await rig.buryHolders()
      await rig.assertEndedOnce([jobId])

      assert.deepEqual(await historyOf(rig, jobId), ONCE, 'only its holder worked on it')
    })

    test('jobs whose submitter dies between the commit and the announcement are found', TIMEOUT, async (t) => {
      const rig = await setup(t, feed, LONG_LEASE)
      const jobIds = [v7(), v7(), v7()]
      const submitter = rig.submitter({ what: 'die', jobIds })
      assert.equal((await submitter.exited).signal, 'SIGKILL')
      const announced = (await rig.streams?.jobs()) ?? []

      const worker = rig.worker()
      await rig.assertEndedOnce(jobIds)

      assert.deepEqual(announced, [])
      await worker.stop()
    })
  })
}

describe('an entry in Redis', () => {
  test(
    'an entry that was read by a consumer that died before it asked the ledger is taken over',
    TIMEOUT,
    async (t) => {
      const { rig, jobIds, streams } = await announced(t)
      const { redis, key, group } = streams
      await redis.xgroup('CREATE', key, group, '0')
      await redis.call('XREADGROUP', 'GROUP', group, 'dead', 'COUNT', 100, 'STREAMS', key, '>')
      assert.deepEqual(await streams.pendingJobs(), jobIds)

      await streams.letLie()
      rig.worker()

      await rig.assertEndedOnce(jobIds)
    },
  )

  test('what was announced before the first worker came is read, and not announced again', TIMEOUT, async (t) => {
    const { rig, jobIds, streams } = await announced(t)

    rig.worker()
    await rig.assertEndedOnce(jobIds)

    assert.deepEqual(await streams.jobs(), jobIds, 'each was announced once')
  })
})

/** Jobs that are in the stream, and no worker has been there yet. */
async function announced(t: Parameters<typeof setup>[0], count = 3) {
  const rig = await setup(t, 'PostgreSQL + Redis streams', LONG_LEASE)
  const { streams } = rig
  assert(streams !== null)
  const jobIds = await rig.submit(count)
  const server = rig.worker({ role: 'serve' })
  await until('all are announced', async () => (await streams.jobs()).length === count)
  await server.stop()
  return { rig, jobIds, streams }
}

async function historyOf(rig: Rig, jobId: string): Promise<string[]> {
  const job = await rig.ledger.get(jobId)
  assert(job !== null)
  return (await rig.ledger.history(job)).map(({ what }) => what)
}

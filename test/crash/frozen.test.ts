// A process that is not dead but late: stopped past its lease, and woken when somebody else has done its job.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FEEDS, setup, TIMEOUT } from './rig.ts'

for (const feed of FEEDS) {
  describe(`a frozen worker, with ${feed} as the feed`, () => {
    test('the result of a worker that was frozen past its lease is refused as stale', TIMEOUT, async (t) => {
      const rig = await setup(t, feed)
      const jobIds = await rig.submit(1)
      const frozen = rig.worker({ stop: { at: 'worked', how: 'freeze' } })
      await frozen.heard('worked')

      const other = rig.worker()
      await rig.untilAllEnded()
      frozen.signal('SIGCONT')
      await frozen.heard('finalized') // or what it took for that

      await rig.assertEndedOnce(jobIds)
      await frozen.logged('"reason":"stale_attempt"')
      const job = await rig.ledger.get(jobIds[0] ?? '')
      assert.deepEqual(job?.result, { attempt_id: 2 })
      await Promise.all([frozen.stop(), other.stop()])
    })

    test('a worker that is frozen in mid-work notices that the job is no longer its own', TIMEOUT, async (t) => {
      const rig = await setup(t, feed)
      const jobIds = await rig.submit(1, () => 1000)
      const frozen = rig.worker({ stop: { at: 'working', how: 'freeze' } })
      await frozen.heard('working')

      await rig.buryHolders()
      const other = rig.worker()
      await rig.untilAllEnded()
      frozen.signal('SIGCONT')
      await frozen.logged('"reason":"stale_attempt"')

      await rig.assertEndedOnce(jobIds)
      await Promise.all([frozen.stop(), other.stop()])
    })
  })
}

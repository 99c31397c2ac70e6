// Workers that are killed at any moment, again and again, while they have their hands full.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { seeded } from '../support/seeded.ts'
import type { Peer } from './peer.ts'
import { FEED_FORMS, setup, TIMEOUT, type Rig } from './rig.ts'

const JOBS = 2000
const SLOTS = 20
const WORKERS = 3
const WORK_MS_MAX = 200
const KILL_EVERY_MS = 300
const STORM_MS = 10_000
const KILLS_MIN = 5
const SEED = Number(process.env['REEVE_TEST_SEED'] ?? randomInt(2 ** 31))

for (const feed of FEED_FORMS) {
  describe(`a storm, with ${feed} as the feed`, () => {
    test(`${JOBS} jobs end once each although workers are killed all the time (seed ${SEED})`, TIMEOUT, async (t) => {
      const random = seeded(SEED)
      const rig = await setup(t, feed)
      const jobIds = await rig.submit(JOBS, () => Math.floor(random() * WORK_MS_MAX))

      const { kills, workers } = await storm(rig, random)
      await rig.freeOutbox()
      await rig.assertEndedOnce(jobIds)

      const [row] = await rig.database.query<{ count: number }>('select count(*)::integer as count from attempts')
      t.diagnostic(`${kills} kills, ${row?.count} attempts lost`)
      assert(kills >= KILLS_MIN, 'the jobs ended before there was a storm')
      assert(row !== undefined && row.count > 0, 'nobody was killed at work')
      for (const worker of workers) await worker.stop()
    })
  })
}

/** Kills a worker that has got work, and starts another, until all is done or the storm is over. */
async function storm(rig: Rig, random: () => number): Promise<{ kills: number; workers: Peer[] }> {
  const workers = Array.from({ length: WORKERS }, () => rig.worker({ slots: SLOTS }))
  const end = performance.now() + STORM_MS
  let kills = 0
  while ((kills < KILLS_MIN || performance.now() < end) && (await rig.countDone()) < JOBS) {
    await sleep(KILL_EVERY_MS * (0.5 + random()))
    const busy = workers.filter((worker) => worker.count('acquired') > 0)
    const victim = busy[Math.floor(random() * busy.length)]
    if (victim === undefined) continue
    workers.splice(workers.indexOf(victim), 1, rig.worker({ slots: SLOTS }))
    await victim.kill()
    kills += 1
  }
  return { kills, workers }
}

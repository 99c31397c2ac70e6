// PostgreSQL is stopped as by a power cut (an immediate shutdown: no checkpoint, recovery at the next start) under processes
// that submit and work. What was accepted ends once, and the processes live on.
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { describe, test, type TestContext } from 'node:test'
import { startEmbedded, type EmbeddedServer } from '../../src/core/embedded/server.ts'
import { openDatabase } from '../../src/core/db/database.ts'
import { migrate } from '../../src/core/db/migrate.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'
import type { Peer } from './peer.ts'
import { FEEDS, openQuietLedger, setup, TIMEOUT } from './rig.ts'

const MIGRATIONS = new URL('../../src/core/migrations/', import.meta.url)
const WORK_MS = 20
const ACCEPTED_BEFORE = 50
const ACCEPTED_AFTER = 100
const SUBMITTED_ALONE = 20

for (const feed of FEEDS) {
  describe(`PostgreSQL restarted, with ${feed} as the feed`, () => {
    test('every job whose submit was answered ends once, and no process dies of the outage', TIMEOUT, async (t) => {
      const postgres = await ownPostgres(t)
      const rig = await setup(t, feed, { at: postgres.at })
      const submitter = rig.submitter({ what: 'stream', ms: WORK_MS })
      const workers = [rig.worker({ slots: 5 }), rig.worker({ slots: 5 })]
      const accepted = acceptedBy(submitter)
      for (const worker of workers) await worker.heard('worked')
      await until('jobs are accepted', () => accepted.length >= ACCEPTED_BEFORE)

      await postgres.stopAtOnce()
      await submitter.heard('refused')
      await postgres.startAgain()
      const before = accepted.length
      await until('jobs are accepted again', () => accepted.length >= before + ACCEPTED_AFTER)
      await submitter.stop()
      await rig.freeOutbox()
      await rig.assertEndedOnce(accepted)

      for (const worker of workers) await worker.stop()
    })
  })
}

// A job by itself is seen by others before it is on the disk; whoever submits it is answered after that.
describe('PostgreSQL stopped as by a power cut, right after the answer to a submit of one job', () => {
  const hint = { channel: 'nobody', message: '', said: () => {} }
  const ways = [
    { feed: 'PostgreSQL', options: { announceByOutbox: false, hintWithin: () => hint } },
    { feed: 'Redis', options: { announceByOutbox: true, announcesFresh: () => true } },
  ]
  for (const { feed, options } of ways) {
    test(`the job is there, with ${feed} as the feed`, TIMEOUT, async (t) => {
      const postgres = await ownPostgres(t)
      const first = await postgres.open(options)
      const accepted: string[] = []
      while (accepted.length < SUBMITTED_ALONE) {
        const answer = await first.ledger.submit({ kind: 'any', payload: accepted.length })
        if (answer.ok) accepted.push(answer.jobId)
      }
      await postgres.stopAtOnce()
      await first.close()
      await postgres.startAgain()

      const second = await postgres.open(options)
      const found = await second.database.query<{ job_id: string }>('select job_id from jobs order by job_id')
      const announced = await second.database.query<{ job_id: string }>(
        'select job_id from outbox_events order by job_id',
      )
      await second.close()

      const ids = (rows: readonly { job_id: string }[]) => rows.map(({ job_id }) => job_id)
      const expected = accepted.toSorted() // ids of one millisecond are in no order
      assert.deepEqual(ids(found), expected)
      assert.deepEqual(ids(announced), options.announceByOutbox ? expected : [])
    })
  }
})

function acceptedBy(submitter: Peer): string[] {
  const jobIds: string[] = []
  submitter.onMessage(({ what, jobId }) => {
    if (what === 'accepted' && typeof jobId === 'string') jobIds.push(jobId)
  })
  return jobIds
}

/** With all that makes it durable switched on, and its folder kept from one run to the next. */
async function ownPostgres(t: TestContext) {
  const dataDir = await temporaryFolder()
  let server: EmbeddedServer = await startEmbedded({ dataDir })
  atEnd(t, async () => {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  const database = openDatabase(server.connection, () => {})
  await migrate(database, [{ owner: 'core', folder: MIGRATIONS }])
  const [row] = await database.query(`select current_setting('fsync') as fsync`)
  await database.close()
  assert.deepEqual(row, { fsync: 'on' })

  return {
    at: server.connection,
    async open(options: Parameters<typeof openQuietLedger>[1]) {
      const database = openDatabase(server.connection, () => {})
      const { ledger, close: closeLedger } = await openQuietLedger(database, options)
      const close = async () => {
        await closeLedger()
        await database.close()
      }
      return { database, ledger, close }
    },
    async stopAtOnce() {
      process.kill(server.pid, 'SIGQUIT')
      await server.exited
    },
    async startAgain() {
      server = await startEmbedded({ dataDir })
    },
  }
}

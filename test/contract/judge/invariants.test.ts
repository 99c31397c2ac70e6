// judge INV-1 to INV-5, C3 and C5: one verdict, whoever else believed to be judging; and a reason for every result that is
// refused.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { cannotTest } from '../../judge/rig.ts'
import { until } from '../../support/until.ts'
import { packageFiles, packageOf } from '../../support/zip.ts'
import { FEEDS, feedOf, metric, type FeedName } from './feeds.ts'
import {
  ask,
  judged,
  login,
  openClient,
  putProblem,
  setup as setupServer,
  startServer,
  submit,
  TWICE,
} from './setup.ts'

const YAML = 'name: Long\nlimits:\n  time_limit: 1\n'

/** A submission that takes three seconds, in one worker’s only slot. */
async function setup(t: TestContext, feed: FeedName, env: Record<string, string> = {}, others = 0) {
  const lines: string[] = []
  const { env: feedEnv, letLie } = await feedOf(t, feed)
  const own = { ...feedEnv, JUDGE_SLOTS: '1', JOB_RECLAIM_GRACE_SEC: '0', ...env }
  const server = await setupServer(t, { env: { ...own, WORKER_ID: 'first' }, lines })
  const { url, ann, at, folder } = server
  const urls = [url]
  for (let n = 1; n <= others; n += 1) {
    const other = await startServer(t, { on: at, folder, env: { ...own, WORKER_ID: `other-${n}` }, lines })
    urls.push(other.url)
  }
  const ready = () => lines.filter((line) => line.includes('"ready to judge"')).length
  await until('all can judge', () => ready() === urls.length)
  await putProblem(url, 'long', packageOf(packageFiles({ 'problem.yaml': YAML })))
  const client = await openClient(t, at)
  const { body } = await submit(url, ann, { problem_id: 'long', code: TWICE.slow })
  const jobId: string = body.job_id
  const isRunning = async () => (await ask(`${url}/status/${jobId}`, { headers: ann })).body.status === 'RUNNING'
  await until('it runs', isRunning)
  const refusals = () =>
    lines.map((line) => JSON.parse(line)).filter((line) => line.msg === 'result refused' && line.job_id === jobId)
  const expireLease = () =>
    client.query(
      `update jobs set lease_until = clock_timestamp() - interval '1 second' where job_id = $1 and state = 'processing'`,
      [jobId],
    )
  const total = async (name: string) => {
    const values = await Promise.all(urls.map((one) => metric(one, name)))
    return values.reduce((sum, value) => sum + value, 0)
  }
  const rejected = (reason: string) => total(`worker_finalize_rejected_total{reason="${reason}"}`)
  const finished = async () => {
    await until('it is finished', async () => {
      await letLie()
      return (await ask(`${url}/status/${jobId}`, { headers: ann })).body.status === 'FINISHED'
    })
    return judged(url, ann, jobId)
  }
  return { ...server, own, client, jobId, refusals, expireLease, rejected, finished, total }
}

const LEASE = { JOB_LEASE_SEC: '3', JOB_HEARTBEAT_SEC: '1' }

for (const feed of FEEDS) {
  describe(`judge, with ${feed} as the feed`, { skip: cannotTest }, () => {
    test('judge INV-5: a result of an older attempt is refused as stale_attempt, and the newer one stays', async (t) => {
      const { refusals, expireLease, rejected, finished, total } = await setup(t, feed, {}, 1)

      await expireLease()
      const result = await finished()
      await until('the late result was refused', async () => refusals().length > 0)

      assert.deepEqual([result.verdict, result.attempt_id], ['TLE', 2])
      const [line] = refusals()
      assert.deepEqual([line.reason, line.attempt_id, line.db_attempt_id], ['stale_attempt', 1, 2])
      assert.match(line.trace_id, /^[0-9a-f]{32}$/)
      for (const field of ['db_status', 'db_state', 'db_lease_owner', 'db_lease_until']) assert(field in line, field)
      assert.equal(await rejected('stale_attempt'), 1)
      assert.equal(await total('worker_stale_attempt_total'), 1)
      assert.equal(await total('worker_finalize_total{status="rejected"}'), 1)
    })

    test('judge C5: a result for a finished job is refused as already_finished', async (t) => {
      const { url, ann, jobId, refusals, rejected } = await setup(t, feed)

      await ask(`${url}/admin/jobs/${jobId}/cancel`, { body: { reason: 'stopped' }, headers: await login(url) })
      await until('the result was refused', async () => refusals().length > 0)
      const result = await judged(url, ann, jobId)

      assert.deepEqual([result.verdict, result.reason], ['SE', 'stopped'])
      assert.equal(refusals()[0].reason, 'already_finished')
      assert.equal(await rejected('already_finished'), 1)
    })

    test('judge C5: a result after the end of its lease is refused, and the job is judged again', async (t) => {
      const { refusals, expireLease, rejected, finished } = await setup(t, feed)

      await expireLease()
      await until('the result was refused', async () => refusals().length > 0)
      const result = await finished()

      assert.equal(refusals()[0].reason, 'lease_lost_or_owner_mismatch')
      assert.deepEqual([result.verdict, result.attempt_id], ['TLE', 2])
      assert.equal(await rejected('lease_lost_or_owner_mismatch'), 1)
    })

    test('judge C5: a result for a requeued job is refused as not_in_expected_state, and the job is judged again', async (t) => {
      const { client, jobId, refusals, rejected, finished } = await setup(t, feed)

      await client.query(
        `update jobs set state = 'pending', lease_owner = null, lease_until = null where job_id = $1 and state = 'processing'`,
        [jobId],
      )
      await until('the result was refused', async () => refusals().length > 0)
      const result = await finished()

      assert.equal(refusals()[0].reason, 'not_in_expected_state')
      assert.deepEqual([result.verdict, result.attempt_id], ['TLE', 2])
      assert.equal(await rejected('not_in_expected_state'), 1)
    })

    test('judge INV-4: a database failure is an error, not a refusal, and the result is handed in again', async (t) => {
      const { url, client, refusals, finished } = await setup(t, feed)
      const errors = () => metric(url, 'worker_finalize_errors_total')

      await client.query('alter table judge_submissions rename to judge_submissions_away')
      await until('the result was not taken', async () => (await errors()) > 0)
      const { rows } = await client.query('select state from jobs')
      await client.query('alter table judge_submissions_away rename to judge_submissions')
      const result = await finished()

      assert.deepEqual(rows, [{ state: 'processing' }])
      assert.deepEqual([result.verdict, result.attempt_id], ['TLE', 1])
      assert.deepEqual(refusals(), [])
      // Counted after the commit that makes it visible.
      await until('it is counted', async () => (await metric(url, 'worker_finalize_total{status="ok"}')) > 0)
      assert.equal(await metric(url, 'worker_finalize_total{status="ok"}'), 1)
    })

    test('judge C3: a lost lease stops the run at once, and its result is discarded', async (t) => {
      const { url, at, folder, own, expireLease, finished } = await setup(t, feed, LEASE)

      await expireLease()
      await until('the heartbeat noticed', async () => {
        const lost = ['lease_lost_or_owner_mismatch', 'stale_attempt']
        const counts = lost.map((reason) =>
          metric(url, `worker_lease_heartbeat_total{status="lost",reason="${reason}"}`),
        )
        return (await Promise.all(counts)).some((count) => count > 0)
      })
      const inFlight = await metric(url, 'judge_exec_inflight')
      await startServer(t, { on: at, folder, role: 'work', env: { ...own, WORKER_ID: 'second' } })

      assert.equal((await finished()).verdict, 'TLE')
      assert(inFlight <= 1)
    })

    test('judge INV-9: a submission that kills every worker is buried as SE, reclaims counted', async (t) => {
      const { url, ann, jobId, client } = await setup(t, feed, {
        JOB_MAX_ATTEMPTS: '2',
        JOB_LEASE_SEC: '3',
        JOB_HEARTBEAT_SEC: '1',
      })

      // As two workers would leave it that died with it.
      await client.query(
        `update jobs set attempt_id = 2, lease_owner = 'dead', lease_until = clock_timestamp() - interval '1 second'
          where job_id = $1`,
        [jobId],
      )
      const result = await judged(url, ann, jobId)

      assert.deepEqual([result.verdict, result.reason], ['SE', 'attempts_exhausted'])
    })
  })
}

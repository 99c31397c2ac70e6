// Processes whose clocks are ten minutes off, beside a database whose clock is right. Leases, and all that has a lease's length, go by the
// database's clock. What a process signs has its own time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENV, login, post, postSigned, solveBody } from '../contract/challenge/setup.ts'
import { spawnReeve } from '../crash/reeve.ts'
import { startReeve, urlOf } from '../support/reeve.ts'
import { until } from '../support/until.ts'

const OFF_MS = 600_000
// A pause of the machine for some seconds costs no lease.
const LEASES = { JOB_LEASE_SEC: '12', JOB_HEARTBEAT_SEC: '2', JOB_RECLAIM_INTERVAL_SEC: '1' }
const WORK_MS = 12_500
const JOBS = 8

/** For NODE_OPTIONS: what the process and its threads take for the time. */
const clockOff = (ms: number): string => {
  const source = `const right = Date; globalThis.Date = class extends right {
    constructor(...given) { if (given.length === 0) super(right.now() + ${ms}); else super(...given) }
    static now() { return right.now() + ${ms} }
  }`
  return `--import=data:text/javascript,${encodeURIComponent(source)}`
}

test('jobs are done once and in their first attempt, whatever the clocks of the processes say', async (t) => {
  const server = await startReeve(t, { role: 'serve', env: { ...ENV, ...LEASES } })
  const settings = { ...server.env, DATABASE_URL: urlOf(server.at), WORK_CONCURRENCY: String(JOBS / 2) }
  const clocks = [
    ['ahead', OFF_MS],
    ['behind', -OFF_MS],
  ] as const
  const workers = clocks.map(([name, ms]) =>
    spawnReeve(t, server.dataDir, { ...settings, WORKER_ID: name, NODE_OPTIONS: clockOff(ms) }, 'work'),
  )
  for (const worker of workers) await until('it works', () => /ready|working/i.test(worker.said()), worker.said)

  const admin = await login(server.url) // once they run: a process that starts may set the admin's password
  const submit = async (payload: object): Promise<string> => {
    const accepted = await post(`${server.url}/admin/jobs`, JSON.stringify({ kind: 'echo', payload }), admin)
    assert.equal(accepted.status, 202)
    return accepted.body.job_id
  }

  // Longer than a lease: without renewals that the database takes, another would begin them again.
  const jobIds = await Promise.all(Array.from({ length: JOBS }, (_, n) => submit({ n, sleep_ms: WORK_MS })))
  type EndedRow = { state: string; attempt_id: number; lease_owner: string; is_between: boolean }
  const ended = () =>
    server.database.query<EndedRow>(
      `select state, attempt_id, lease_owner, started_at between submitted_at and clock_timestamp() as is_between
         from jobs where job_id = any($1::uuid[]) and finished_at is not null`,
      [jobIds],
    )
  const seen = async () => [workers.map(({ said }) => said()), await ended()]
  await until('all are done', async () => (await ended()).length === JOBS, seen)

  const rows = await ended()
  assert.deepEqual(new Set(rows.map(({ state, attempt_id: attempt }) => `${state} ${attempt}`)), new Set(['done 1']))
  assert.deepEqual(new Set(rows.map((row) => row.lease_owner)), new Set(['ahead', 'behind']))
  assert(
    rows.every((row) => row.is_between),
    'the times of a job are the database’s',
  )
})

test('a signed request has the time of the process that sends it: with a clock that is off, a receiver refuses it', async (t) => {
  const challenger = await startReeve(t, { env: ENV })
  const server = await startReeve(t, { role: 'serve', env: { ...ENV, DRAIN_TIMEOUT_SEC: '1' } })
  const settings = { ...server.env, DATABASE_URL: urlOf(server.at), NODE_OPTIONS: clockOff(OFF_MS) }
  // No callback leaves from the process whose clock is right.
  await server.stop()
  const wrong = spawnReeve(t, server.dataDir, settings, 'up')
  const { url } = await wrong.ready()

  const accepted = await postSigned(url, '/solve', solveBody('c1', `${challenger.url}/callback/c1`))
  type Letter = { status: string; status_code: number; peer_code: string }
  const letters = () =>
    server.database.query<Letter>(
      `select status, status_code, peer_code from outbox_events left join delivery_attempts using (outbox_id)
        where outbox_events.topic = 'challenge_callback'`,
    )
  // The attempt is logged before its row is settled.
  await until(
    'the callback was settled',
    async () => (await letters()).some(({ status }) => status !== 'pending'),
    letters,
  )

  assert.equal(accepted.status, 202, 'requests are judged by the clock of the database')
  assert.deepEqual(await letters(), [{ status: 'dead', status_code: 401, peer_code: 'INVALID_SIGNATURE' }])
})

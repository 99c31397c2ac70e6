import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { ReeveClient, type Job } from '@reeve/sdk'
import { WebSocket } from 'ws'
import { tokenOf } from '../../support/reeve.ts'
import { useReeve } from '../../support/use-reeve.ts'
import { until } from '../../support/until.ts'

// Ids as jobs have them: they begin with their time, a millisecond for each.
const FILL = `
  insert into jobs (job_id, kind, state, priority, rank, payload, attempt_id, lease_owner, reason, finished_at, submitted_at)
  select (lpad(to_hex(1700000000000 + n), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid,
         case when n % 3 = 0 then 'mail' else 'report' end, (case when n % 4 = 0 then 'dead' else 'done' end)::job_state, 5, n, '{}',
         1, 'w' || n % 2, case when n % 4 = 0 then case when n % 8 = 0 then 'SMTP 451' else 'out of memory' end end,
         now(), to_timestamp((1700000000000 + n) / 1000.0)
    from generate_series(1, $1::integer) as n`

async function setup(t: TestContext, count: number) {
  const reeve = await useReeve(t, { doors: 'judge' })
  await reeve.database.query(FILL, [count])
  await reeve.database.query('analyze jobs')
  const { token } = await tokenOf(reeve.url, 'admin')
  return { ...reeve, token, jobs: new ReeveClient({ url: reeve.url, token }).jobs }
}

describe('searching jobs', () => {
  test('every page of every filter together has each matching job once, newest first', async (t) => {
    const { jobs } = await setup(t, 12_000)
    const all = async (filter: object) => {
      const found: Job[] = []
      let before: string | null = null
      do {
        const page = await jobs.list({ ...filter, limit: 200, ...(before === null ? {} : { before }) })
        found.push(...page.jobs)
        before = page.next_before
      } while (before !== null)
      return found
    }

    const everything = await all({})
    const ids = everything.map(({ job_id: jobId }) => jobId)

    assert.equal(ids.length, 12_000)
    assert.deepEqual(ids, [...new Set(ids)].toSorted().toReversed())
    for (const [filter, matches] of [
      [{ kind: 'mail' }, (job: Job) => job.kind === 'mail'],
      [{ state: 'dead' }, (job: Job) => job.state === 'dead'],
      [{ state: 'dead', kind: 'mail', reason: 'smtp' }, (job: Job) => job.kind === 'mail' && job.reason === 'SMTP 451'],
      [{ state: 'done', priority: 4 }, () => false],
      [
        { submitted_after: '2023-11-14T22:13:21.000Z', submitted_before: '2023-11-14T22:13:22.000Z' },
        (job: Job) => job.submitted_at >= '2023-11-14T22:13:21.000Z' && job.submitted_at < '2023-11-14T22:13:22.000Z',
      ],
    ] as const) {
      const expected = everything.filter(matches).map(({ job_id: jobId }) => jobId)
      const found = (await all(filter)).map(({ job_id: jobId }) => jobId)
      assert.deepEqual(found, expected, JSON.stringify(filter))
      assert.deepEqual(await jobs.count(filter), { count: expected.length, exact: true }, JSON.stringify(filter))
    }
  })

  test('a count is exact up to 10,000 and says that there are more', async (t) => {
    const { jobs } = await setup(t, 12_000)

    assert.deepEqual(await jobs.count({}), { count: 10_000, exact: false })
  })

  test('a bulk replay repeats each matching dead job once, and does not touch new ones', async (t) => {
    const { jobs } = await setup(t, 2000)
    const progress: number[] = []

    const first = await jobs.bulk(
      'replay',
      { state: 'dead', kind: 'mail' },
      { onProgress: ({ done }) => progress.push(done) },
    )
    const again = await jobs.bulk('cancel', { state: 'pending' })
    const none = await jobs.bulk('cancel', { kind: 'mail', state: 'done' })

    assert.equal(first.done, 166)
    assert.equal(progress.at(-1), 166)
    assert.deepEqual([again.done, again.refused], [166, 0])
    assert.deepEqual([none.done, none.refused], [0, 500])
  })

  test('an invalid filter is refused and does nothing', async (t) => {
    const { url, token } = await setup(t, 10)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ action: 'cancel', filter: { stat: 'dead' } })

    assert.equal((await fetch(`${url}/admin/jobs/bulk`, { method: 'POST', headers, body })).status, 422)
    for (const query of ['state=lost', 'submitted_after=yesterday', 'account_id=0', 'before=1'])
      assert.equal((await fetch(`${url}/admin/jobs?${query}`, { headers })).status, 422, query)
  })

  test('/live sends new jobs that match, and every change of the given jobs', async (t) => {
    const { url, token, jobs } = await setup(t, 10)
    const live = new ReeveClient({ url, token }).live({ WebSocket })
    t.after(() => live.close())
    const arrived: string[] = []
    const states: string[] = []
    live.follow({
      topic: 'jobs',
      params: { filter: { kind: 'echo' } },
      onMessage: ({ type, payload }) => {
        if (type === 'new') arrived.push(...jobsOf(payload).map((job) => job.job_id))
      },
    })
    await until('it is live', () => live.state === 'live')

    const { job_id: jobId } = await jobs.submit({ kind: 'echo', payload: { sleep_ms: 300 } })
    live.follow({
      topic: 'job_states',
      params: { job_ids: [jobId] },
      onMessage: ({ payload }) => states.push(...jobsOf(payload).map((job) => job.state)),
    })
    await until('it is done', () => states.includes('done'))
    await until('it arrived', () => arrived.length > 0)

    assert.deepEqual(arrived, [jobId])
  })
})

const jobsOf = (payload: unknown): Job[] =>
  typeof payload === 'object' && payload !== null && 'jobs' in payload && Array.isArray(payload.jobs)
    ? payload.jobs
    : []

// What is deleted when it is old, what never is, and that tables stay flat.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openPrune, type ReleaseOld } from '../../src/core/ledger/prune.ts'
import { loopOver } from '../../src/core/retention.ts'
import { releaseRequests } from '../../src/doors/challenge/solver/retention.ts'
import { releaseTaskless } from '../../src/doors/desk/tasks/retention.ts'
import { releaseSubmissions } from '../../src/doors/judge/submissions/retention.ts'
import { releaseQuorums, releaseTasks } from '../../src/doors/pool/tasks/retention.ts'
import { openDatabase, type Database } from '../../src/core/db/database.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { atEnd } from '../support/cleanup.ts'
import { reusedDatabase, testDatabase } from '../support/database.ts'

const INSERT = `
  insert into jobs (job_id, kind, state, priority, rank, payload, result, reason, attempt_id, submitted_at, finished_at, replay_of,
                    lease_owner, lease_until)
  select ($1 || '-7000-8000-000000000000')::uuid, $2, $3::job_state, 5, 0, '{}', case when $3 = 'done' then '{}'::json end,
         case when $3 = 'dead' then 'why' end, 1, at, case when $3 in ('done', 'dead') then at end, $5::uuid,
         case when $3 = 'processing' then 'w' end, case when $3 = 'processing' then at end
    from (select clock_timestamp() - $4 * interval '1 day' as at) as r
  returning job_id`

async function setup(t: Parameters<typeof testDatabase>[0]) {
  const { database } = await testDatabase(t)
  let made = 0
  const add = async (kind: string, state: string, daysAgo: number, replayOf: string | null = null) => {
    made += 1
    const ms = Date.now() - daysAgo * 86_400_000 + made
    const hex = ms.toString(16).padStart(12, '0')
    const [row] = await database.query<{ job_id: string }>(INSERT, [
      `${hex.slice(0, 8)}-${hex.slice(8)}`,
      kind,
      state,
      daysAgo,
      replayOf,
    ])
    assert(row !== undefined)
    return row.job_id
  }
  const left = async () =>
    (await database.query<{ job_id: string }>('select job_id from jobs order by job_id')).map((row) => row.job_id)
  const all: ReleaseOld = async (_tx, jobIds) => jobIds
  const prune = (options: Partial<Parameters<typeof openPrune>[0]> = {}) =>
    openPrune({
      pool: database,
      kept: { jobsDays: 30, attemptsDays: 30, resultsDays: 0 },
      releaseOf: () => all,
      forgetOf: () => all,
      now: Date.now,
      ...options,
    })
  return { database, add, left, prune }
}

describe('retention of jobs', () => {
  test('deletes done jobs that are old with their attempts, and nothing else', async (t) => {
    const { database, add, left, prune } = await setup(t)
    const old = await add('a', 'done', 31)
    await database.query(
      `insert into attempts (job_id, attempt_id, owner, started_at, outcome) values ($1, 1, 'w', clock_timestamp(), 'failed')`,
      [old],
    )
    const dead = await add('a', 'dead', 400)
    const stay = [
      dead,
      await add('a', 'pending', 300),
      await add('a', 'processing', 200),
      await add('a', 'done', 100, dead),
      await add('a', 'done', 29),
    ]

    const { deleted } = await prune()()

    assert.equal(deleted, 1)
    assert.deepEqual(await left(), stay.toSorted())
    assert.deepEqual(await database.query('select 1 from attempts'), [])
  })

  test('walks in bounded pages, and leaves jobs that a door keeps and jobs of unknown kinds', async (t) => {
    const { add, left, prune } = await setup(t)
    const kept = [await add('keeps', 'done', 50), await add('foreign', 'done', 49)]
    for (let n = 0; n < 5; n += 1) await add('goes', 'done', 48)
    const releases = new Map<string, ReleaseOld>([
      ['keeps', async () => []],
      ['goes', async (_tx, jobIds) => jobIds],
    ])
    const next = prune({ page: 3, releaseOf: (kind) => releases.get(kind) ?? null })

    const passes = [await next(), await next(), await next()]

    assert.deepEqual(passes, [
      { deleted: 1, more: true },
      { deleted: 3, more: true },
      { deleted: 1, more: false },
    ])
    assert.deepEqual(await left(), kept.toSorted())
  })

  test('JOBS_KEPT_DAYS=0 keeps jobs for ever; their attempts go by ATTEMPTS_KEPT_DAYS', async (t) => {
    const { database, add, left, prune } = await setup(t)
    const old = await add('a', 'done', 1000)
    await database.query(
      `insert into attempts (job_id, attempt_id, owner, started_at, outcome) values ($1, 1, 'w', clock_timestamp(), 'failed')`,
      [old],
    )

    await prune({ kept: { jobsDays: 0, attemptsDays: 0, resultsDays: 0 } })()
    assert.equal((await database.query('select 1 from attempts')).length, 1)
    await prune({ kept: { jobsDays: 0, attemptsDays: 30, resultsDays: 0 } })()

    assert.deepEqual(await left(), [old])
    assert.deepEqual(await database.query('select 1 from attempts'), [])
  })

  test('RESULTS_KEPT_DAYS forgets results of jobs that stay, of kinds that allow it', async (t) => {
    const { database, add, left, prune } = await setup(t)
    const jobs = [await add('a', 'done', 40), await add('reads', 'done', 40), await add('a', 'done', 3)]
    const forgetOf = (kind: string): ReleaseOld | null => (kind === 'a' ? async (_tx, jobIds) => jobIds : null)

    await prune({ kept: { jobsDays: 0, attemptsDays: 0, resultsDays: 30 }, forgetOf })()

    assert.deepEqual(await left(), jobs)
    const results = await database.query<{ kept: boolean }>(
      'select result is not null as kept from jobs order by job_id',
    )
    assert.deepEqual(
      results.map(({ kept }) => kept),
      [false, true, true],
    )
  })

  test("the database's clock decides what is old, not this process's", async (t) => {
    const { add, left, prune } = await setup(t)
    const young = await add('a', 'done', 1)

    await prune({ now: () => Date.now() + 400 * 86_400_000 })()

    assert.deepEqual(await left(), [young])
  })
})

describe('the retention loop', () => {
  test('gives every part its turn, also after one that failed', async () => {
    const ran: string[] = []
    const part = (name: string, more: boolean) => ({ name, runOnce: async () => (ran.push(name), more) })
    const failing = { name: 'bad', runOnce: () => Promise.reject(new Error('no')) }

    await assert.rejects(
      loopOver([part('a', true), failing, part('b', false)]).runOnce(new AbortController().signal),
      /no/,
    )
    const more = await loopOver([part('c', true), part('d', false)]).runOnce(new AbortController().signal)

    assert.deepEqual([ran, more], [['a', 'b', 'c', 'd'], true])
  })

  test('what doors refer to stays: submissions, tasks; what belongs to an old job goes with it, but for receipts', async (t) => {
    const database = openDatabase(await reusedDatabase(t, migrationFolders()), () => {})
    atEnd(t, () => database.close())
    const ids = Object.fromEntries(
      ['judge', 'run', 'pool', 'solve'].map((name, n) => [name, `01000000-0000-7000-8000-00000000000${n}`]),
    )
    const add = (id: string | undefined, kind: string) =>
      database.query(
        `insert into jobs (job_id, kind, state, priority, rank, payload, finished_at)
         values ($1, $2, 'done', 5, 0, '{}', clock_timestamp() - interval '40 days')`,
        [id, kind],
      )
    await add(ids['judge'], 'judge')
    await add(ids['run'], 'judge')
    await add(ids['pool'], 'pool')
    await add(ids['solve'], 'solve')
    await database.query(
      `insert into judge_submissions (job_id, account_id, problem_id, language, verdict, finished_at)
       values ($1, 1, 'p', 'c', 'AC', clock_timestamp() - interval '40 days')`,
      [ids['judge']],
    )
    await database.query(
      `insert into solve_requests (challenge_id, job_id, callback_url, status, finished_at) values ('c', $1, 'u', 'success', clock_timestamp())`,
      [ids['solve']],
    )
    await database.query(`insert into pool_receipts values (1, 7, '{}', 'h', 's')`)
    await database.query(
      `insert into pool_results (assignment_id, job_id, worker_id, status, signature, public_key, finished_at, is_final)
       values (7, $1, 1, 'completed', '', '', clock_timestamp(), true)`,
      [ids['pool']],
    )

    await pruneWithDoors(database, 0)
    const jobs = (await database.query<{ job_id: string }>('select job_id from jobs')).map((row) => row.job_id)
    assert.deepEqual(jobs, [ids['judge']])
    assert.equal((await database.query('select 1 from pool_receipts')).length, 1)
    assert.equal((await database.query('select 1 from pool_results')).length, 0)
    assert.equal((await database.query('select 1 from solve_requests')).length, 0)

    await pruneWithDoors(database, 35)
    assert.deepEqual(await database.query('select 1 from jobs union all select 1 from judge_submissions'), [])
  })
})

async function pruneWithDoors(database: Database, submissionsKeptDays: number): Promise<void> {
  const releases: Readonly<Record<string, ReleaseOld>> = {
    judge: releaseSubmissions(submissionsKeptDays),
    solve: releaseRequests,
    pool: releaseTasks,
    pool_quorum: releaseQuorums,
    desk: releaseTaskless,
  }
  const kept = { jobsDays: 30, attemptsDays: 30, resultsDays: 0 }
  const releaseOf = (kind: string) => releases[kind] ?? null
  await openPrune({ pool: database, kept, releaseOf, forgetOf: () => null, now: Date.now })()
}

// The Solver is killed at every step between the commit of a request and the delivery of its callback: the Challenger gets
// exactly one result, and no callback is lost.
import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { Client } from 'pg'
import { migrationFolders } from '../../src/doors/outline.ts'
import {
  account,
  ENV,
  feedEnv,
  get,
  post,
  postSigned,
  solveBody,
  startReceiver,
  startServer,
  urlOf,
} from '../contract/challenge/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { freshDatabase } from '../support/database.ts'
import { temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { startPeer } from './peer.ts'
import { TIMEOUT } from './rig.ts'
import type { SolverOptions, SolverStep } from './solver-process.ts'

const SOLVER = new URL('solver-process.ts', import.meta.url)

// Kills the server that it runs in, once: whoever comes next finds the mark.
const DYING_PLUGIN = `
  import { existsSync, writeFileSync } from 'node:fs'
  export const solvers = {
    dying({ mark }) {
      if (existsSync(mark)) return '395'
      writeFileSync(mark, '')
      process.kill(process.pid, 'SIGKILL')
      return new Promise(() => {})
    },
  }`

/** An entry of the stream is taken over when it was idle for the lease and the grace. */
const SOON = {
  JOB_LEASE_SEC: '3',
  JOB_HEARTBEAT_SEC: '1',
  JOB_RECLAIM_GRACE_SEC: '0',
  JOB_RECLAIM_INTERVAL_SEC: '1',
}

/** What the dead Solver left behind. */
interface Left {
  job: string
  /** Of the outbox: of the callback. Null: there is no row yet. */
  callback: string | null
}

interface Case extends Left {
  name: string
  dieAt: SolverStep | null
  /** How often the Challenger is called, both lives counted. */
  calls?: number
}

const BEFORE = { job: 'pending', callback: null }
const DURING = { job: 'processing', callback: null }
const AFTER = { job: 'done', callback: 'pending' }

const CASES: readonly Case[] = [
  { name: 'after the commit of the request, before its 202 leaves', dieAt: 'answering', ...BEFORE },
  { name: 'before it acquires the job', dieAt: 'acquiring', ...BEFORE },
  { name: 'after it acquired the job', dieAt: 'acquired', ...DURING },
  { name: 'after it solved the problem, before the result is committed', dieAt: 'worked', ...DURING },
  { name: 'after the result is committed', dieAt: 'finalized', ...AFTER },
  { name: 'after it claimed the callback, before it dials', dieAt: 'dialling', ...AFTER },
  { name: 'after it read the 200 of the callback', dieAt: 'answered', ...AFTER, calls: 2 },
  {
    name: 'after it logged the attempt, before the callback is marked delivered',
    dieAt: 'settling',
    ...AFTER,
    calls: 2,
  },
]

async function setup(t: TestContext, redis: boolean) {
  const challenger = await startServer(t, { role: 'serve' })
  const owner = await account(challenger.url, 'owner')
  const challenge = {
    challenge_id: 'c1',
    problem: { type: 'math' },
    validation_rule: { type: 'ExactMatch' },
    answer: '395',
  }
  await post(`${challenger.url}/challenges`, JSON.stringify(challenge), owner)

  const at = await freshDatabase(migrationFolders())
  const more = await feedEnv(t, redis ? 'Redis' : 'PostgreSQL')
  const start = (dieAt: SolverStep | null, env: Record<string, string> = {}, role: SolverOptions['role'] = 'up') =>
    startPeer(t, SOLVER, {
      role,
      dieAt,
      // Long enough that nobody takes over because a machine is slow: the test lets the lease run out.
      settings: { ...ENV, JOB_LEASE_SEC: '3600', DATABASE_URL: urlOf(at), ...more, ...env },
    } satisfies SolverOptions)
  const client = new Client(at)
  await client.connect()
  atEnd(t, () => client.end())

  const left = async (): Promise<Left> => {
    const { rows } = await client.query(`
      select state as job, (select status from outbox_events where topic = 'challenge_callback') as callback
        from jobs where kind = 'solve'`)
    return rows[0]
  }
  /** The Solver is dead: its lease is over, and what it had claimed is free. */
  const bury = async () => {
    await until('its connections are gone', async () => {
      const { rows } = await client.query(
        `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
            and backend_type = 'client backend'`,
      )
      return rows.length === 0
    })
    await client.query(`update jobs set lease_until = now() where state = 'processing'`)
    await client.query(`update outbox_events set next_attempt_at = now() where status = 'pending'`)
  }
  const live = (env: Record<string, string> = {}) => startServer(t, { on: at, env: { ...SOON, ...more, ...env } })
  const story = async () => (await get(`${challenger.url}/challenges/c1`, owner)).body
  const assertOnce = async (calls: number) => {
    await until('the callback is delivered', async () => (await left())?.callback === 'delivered', left)
    const { state, results, callbacks } = await story()
    assert.equal(state, 'completed')
    assert.deepEqual(
      results.map((one: Record<string, unknown>) => [one['answer'], one['is_correct'], one['is_final']]),
      [['395', true, true]],
    )
    assert.deepEqual(
      callbacks.map((one: { outcome: string }) => one.outcome).toSorted(),
      [...Array.from({ length: calls - 1 }, () => 'duplicate'), 'recorded'].toSorted(),
    )
  }
  return { challenger, start, left, bury, live, assertOnce, results: async () => (await story()).results }
}

const urlIn = async (peer: ReturnType<typeof startPeer>) => (await peer.heard('ready')).line ?? ''

describe('a Solver that is killed', () => {
  const runs = [
    ...CASES.map((one) => ({ ...one, redis: false })),
    // Where the feed has a part in it.
    ...CASES.filter(({ dieAt }) => dieAt === 'answering' || dieAt === 'acquired' || dieAt === 'finalized').map(
      (one) => ({
        ...one,
        name: `${one.name}, with Redis`,
        redis: true,
      }),
    ),
  ]
  for (const { name, dieAt, redis, calls = 1, ...expected } of runs) {
    test(`${name}: one result, no callback lost`, TIMEOUT, async (t) => {
      const { challenger, start, left, bury, live, assertOnce } = await setup(t, redis)
      const first = start(dieAt)
      const body = solveBody('c1', `${challenger.url}/callback/c1`)

      const accepted = await postSigned(await urlIn(first), '/solve', body).catch(() => null)
      assert.equal((await first.exited).signal, 'SIGKILL')
      await bury()
      const found = await left()
      await live()
      await assertOnce(calls)

      assert.deepEqual(found, expected)
      if (dieAt === 'answering') assert.equal(accepted, null)
      else assert(accepted === null || accepted.status === 202)
    })
  }

  test('right after its 202, before the job is acquired: one result', TIMEOUT, async (t) => {
    const { challenger, start, left, bury, live, assertOnce } = await setup(t, false)
    const first = start(null, {}, 'serve')

    const accepted = await postSigned(await urlIn(first), '/solve', solveBody('c1', `${challenger.url}/callback/c1`))
    await first.kill()
    await bury()
    const found = await left()
    await live()
    await assertOnce(1)

    assert.equal(accepted.status, 202)
    assert.deepEqual(found, BEFORE)
  })

  test('in the middle of solving: one result', TIMEOUT, async (t) => {
    const { challenger, start, left, bury, live, assertOnce } = await setup(t, false)
    const folder = await temporaryFolder()
    atEnd(t, () => rm(folder, { recursive: true, force: true }))
    await writeFile(join(folder, 'plugin.mjs'), DYING_PLUGIN)
    const plugin = { SOLVER_PLUGINS: join(folder, 'plugin.mjs') }
    const first = start(null, plugin)
    const problem = { problem: { type: 'dying', mark: join(folder, 'mark') } }

    await postSigned(await urlIn(first), '/solve', solveBody('c1', `${challenger.url}/callback/c1`, problem)).catch(
      () => {},
    )
    assert.equal((await first.exited).signal, 'SIGKILL')
    await bury()
    const found = await left()
    await live(plugin)
    await assertOnce(1)

    assert.deepEqual(found, DURING)
  })

  test('after the Challenger accepted the callback, before the 200 arrives: one result', TIMEOUT, async (t) => {
    let kill = () => {}
    const { challenger, start, left, bury, live, assertOnce, results } = await setup(t, false)
    // Between the two: what it hears it passes on, and the first answer never comes back.
    const between = await startReceiver(t, [
      async () => {
        await passOn(0)
        kill()
      },
      async (_request, response) => {
        const answer = await passOn(1)
        response.writeHead(answer.status).end(JSON.stringify(answer.body))
      },
    ])
    const passOn = (index: number) => {
      const request = between.received[index]
      const { authorization = '', ...headers } = request?.headers ?? {}
      const kept = { authorization, 'x-request-id': String(headers['x-request-id']) }
      return post(`${challenger.url}/callback/c1`, request?.body ?? '', kept)
    }
    const first = start(null)
    kill = () => first.signal('SIGKILL')

    await postSigned(await urlIn(first), '/solve', solveBody('c1', `${between.url}/callback/c1`))
    assert.equal((await first.exited).signal, 'SIGKILL')
    await bury()
    const [found, taken] = [await left(), await results()]
    await live()
    await assertOnce(2)

    assert.deepEqual([found, taken.length], [AFTER, 1])
  })

  test('before its 202 is sent: the Challenger repeats the request, and it is already accepted', TIMEOUT, async (t) => {
    const { challenger, start, bury, live, assertOnce } = await setup(t, false)
    const body = solveBody('c1', `${challenger.url}/callback/c1`)
    const first = start('answering', {}, 'serve')
    await postSigned(await urlIn(first), '/solve', body).catch(() => null)
    await first.exited
    await bury()

    const again = await postSigned((await live()).url, '/solve', body)
    await assertOnce(1)

    assert.deepEqual([again.status, again.body.message], [202, 'Challenge already accepted'])
  })
})

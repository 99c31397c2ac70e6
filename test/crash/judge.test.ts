// A worker is killed or frozen at each step of judging. There is one verdict, and of the dead no process and no cgroup is left.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { describe, test, type TestContext } from 'node:test'
import { feedOf, FEEDS, type FeedName } from '../contract/judge/feeds.ts'
import { account, ask, judged, openClient, putProblem, startServer, submit, TWICE } from '../contract/judge/setup.ts'
import { cannotTest } from '../judge/rig.ts'
import { until } from '../support/until.ts'
import { packageFiles, packageOf } from '../support/zip.ts'
import type { JudgeProcessOptions } from './judge-process.ts'
import { startPeer, type Peer } from './peer.ts'

const TIMEOUT = { timeout: 120_000 }
const SCRIPT = new URL('judge-process.ts', import.meta.url)
const CGROUPS = ['/sys/fs/cgroup', ...['memory', 'cpuacct', 'pids', 'unified'].map((one) => `/sys/fs/cgroup/${one}`)]

/** Compiles for long enough to be killed, and is right. */
const HEAVY = `
#include <iostream>
template <int N> struct Sum { static constexpr long value = Sum<N - 1>::value + N; };
template <> struct Sum<0> { static constexpr long value = 0; };
template <int N> struct Many { static long all() { return Sum<800>::value + Many<N - 1>::all(); } };
template <> struct Many<0> { static long all() { return 0; } };
int main() { int n; std::cin >> n; std::cout << 2 * n + 0 * Many<800>::all() << "\\n"; }
`

async function setup(t: TestContext, feed: FeedName = 'PostgreSQL') {
  const { env: feedEnv, letLie } = await feedOf(t, feed)
  const cgroup = `reeve-test-${randomBytes(4).toString('hex')}`
  const env = {
    ...feedEnv,
    SANDBOX_CGROUP: cgroup,
    JUDGE_SLOTS: '1',
    JOB_LEASE_SEC: '3',
    JOB_HEARTBEAT_SEC: '1',
    JOB_RECLAIM_GRACE_SEC: '0',
  }
  const server = await startServer(t, { role: 'serve', env })
  const { url, at } = server
  const yaml = 'name: Twice\nlimits:\n  time_limit: 1\n'
  await putProblem(url, 'twice', packageOf(packageFiles({ 'problem.yaml': yaml })))
  const ann = await account(url, 'ann')
  const client = await openClient(t, at)

  const worker = (options: Omit<JudgeProcessOptions, 'settings'> = {}) =>
    startPeer(t, SCRIPT, { settings: server.env, ...options } satisfies JudgeProcessOptions)
  const status = async (jobId: string) => (await ask(`${url}/status/${jobId}`, { headers: ann })).body

  return {
    url,
    ann,
    client,
    worker,
    status,
    letLie,
    send: async (body: object): Promise<string> => (await submit(url, ann, body)).body.job_id,
    /** The holders are known to be dead: nobody needs to wait until what they held is free. */
    async buryHolders() {
      await client.query(`update jobs set lease_until = clock_timestamp() where state = 'processing'`)
      await letLie()
    },
    verdict: (jobId: string) => judged(url, ann, jobId),
    /** Once all that was written to the outbox is delivered, one event says that it is finished. */
    async assertOnce(jobId: string) {
      await client.query(`update outbox_events set next_attempt_at = clock_timestamp() where topic = 'event'`) // of the dead
      await until('the events are delivered', async () => {
        return (await client.query(`select from outbox_events where topic = 'event'`)).rowCount === 0
      })
      const { rowCount } = await client.query(`select from events where channel = $1 and type = 'finished'`, [
        `judge:${jobId}`,
      ])
      assert.equal(rowCount, 1)
    },
    untilNoCgroup: () =>
      until(
        'no cgroup is left',
        async () => (await cgroupsOf(cgroup)).length === 0,
        () => cgroupsOf(cgroup),
      ),
  }
}

async function cgroupsOf(name: string): Promise<string[]> {
  const found = await Promise.all(
    CGROUPS.map(async (folder) => {
      const below = await readdir(`${folder}/${name}`, { withFileTypes: true }).catch(() => [])
      return below.filter((entry) => entry.isDirectory()).map((entry) => `${folder}/${name}/${entry.name}`)
    }),
  )
  return found.flat()
}

/** Itself, its helpers and whatever runs in their boxes. */
async function familyOf(pid: number): Promise<{ pid: number; name: string }[]> {
  const all = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => {
        const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')
        const [, command = '', rest = ''] = /\((.*)\) (.*)/s.exec(stat) ?? []
        return { pid: Number(name), parent: Number(rest.split(' ')[1]), name: command }
      }),
  )
  const family = new Set([pid])
  for (let size = 0; size < family.size;) {
    size = family.size
    for (const one of all) if (family.has(one.parent)) family.add(one.pid)
  }
  return all.filter((one) => family.has(one.pid))
}

const isAlive = async (pid: number) => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat !== '' && !/\) [ZX] /.test(stat)
}

/** Kills it, and waits until nothing of it is left. */
async function killWhole(worker: Peer): Promise<void> {
  const family = await familyOf(worker.pid)
  await worker.kill()
  await untilGone(family)
}

const untilGone = (family: readonly { pid: number; name: string }[]) =>
  until(
    'no process is left',
    async () => !(await Promise.all(family.map(({ pid }) => isAlive(pid)))).includes(true),
    () => family,
  )

const runs = (worker: Peer, program: string) =>
  until(
    `${program} runs`,
    async () => (await familyOf(worker.pid)).some(({ name }) => name.startsWith(program)),
    () => familyOf(worker.pid),
  )

/** With Redis, what the ledger's own tests do not show: an entry of a job that is done. */
const STEPS = [
  ['acquired', 2],
  ['worked', 2],
  ['finalized', 1],
] as const

for (const feed of FEEDS) {
  describe(`a judge that is killed, with ${feed} as the feed`, { skip: cannotTest }, () => {
    for (const [step, attempts] of feed === 'PostgreSQL' ? STEPS : STEPS.slice(-1)) {
      test(`when it is at "${step}" leaves one verdict, no process and no cgroup`, TIMEOUT, async (t) => {
        const { worker, send, verdict, buryHolders, assertOnce, untilNoCgroup } = await setup(t, feed)
        const first = worker({ dieAt: step })
        await first.heard('ready')

        const jobId = await send({ code: TWICE.accepted })
        await first.heard(step)
        assert.equal((await first.exited).signal, 'SIGKILL')
        await untilNoCgroup()
        await buryHolders()
        const second = worker()
        const result = await verdict(jobId)

        assert.deepEqual([result.verdict, result.attempt_id], ['AC', attempts])
        await assertOnce(jobId)
        await second.stop()
        await untilNoCgroup()
      })
    }

    test('while a program runs leaves one verdict, no process and no cgroup', TIMEOUT, async (t) => {
      const { worker, send, verdict, buryHolders, assertOnce, untilNoCgroup } = await setup(t, feed)
      const first = worker()
      await first.heard('ready')
      const jobId = await send({ code: TWICE.slow })
      await runs(first, 'main')

      await killWhole(first)
      await untilNoCgroup()
      await buryHolders()
      const second = worker()
      const result = await verdict(jobId)

      assert.deepEqual([result.verdict, result.attempt_id], ['TLE', 2])
      await assertOnce(jobId)
      await second.stop()
      await untilNoCgroup()
    })

    test(
      'a judge that is frozen past its lease finds that another has judged, and leaves nothing',
      TIMEOUT,
      async (t) => {
        const { worker, send, verdict, buryHolders, assertOnce, untilNoCgroup } = await setup(t, feed)
        const first = worker()
        await first.heard('ready')
        const jobId = await send({ code: TWICE.slow })
        await runs(first, 'main')
        first.signal('SIGSTOP')

        await buryHolders()
        const second = worker()
        const result = await verdict(jobId)
        first.signal('SIGCONT')
        await first.logged('"reason":"stale_attempt"')

        assert.deepEqual([result.verdict, result.attempt_id], ['TLE', 2])
        await assertOnce(jobId)
        await Promise.all([first.stop(), second.stop()])
        await untilNoCgroup()
      },
    )
  })
}

describe('a judge whose parts die', { skip: cannotTest }, () => {
  test('killed while it compiles, it leaves one verdict, no process and no cgroup', TIMEOUT, async (t) => {
    const { worker, send, verdict, buryHolders, assertOnce, untilNoCgroup } = await setup(t)
    const first = worker()
    await first.heard('ready')
    const jobId = await send({ language: 'cpp', code: HEAVY })
    await runs(first, 'cc1plus')

    await killWhole(first)
    await untilNoCgroup()
    await buryHolders()
    const second = worker()
    const result = await verdict(jobId)

    assert.deepEqual([result.verdict, result.attempt_id], ['AC', 2])
    await assertOnce(jobId)
    await second.stop()
  })

  for (const part of ['reeve-box', 'main'] as const) {
    test(`goes on after its ${part} was killed from outside`, TIMEOUT, async (t) => {
      const { worker, send, verdict, assertOnce, untilNoCgroup } = await setup(t)
      const first = worker()
      await first.heard('ready')
      const jobId = await send({ code: TWICE.slow })
      await runs(first, 'main')

      const victim = (await familyOf(first.pid)).find(({ name }) => name.startsWith(part))
      assert(victim !== undefined, `${part} has ended by itself`)
      process.kill(victim.pid, 'SIGKILL')
      const result = await verdict(jobId)

      // Without its helper nothing is known about the run: it is made again. A program that was killed was killed.
      assert.deepEqual([result.verdict, result.attempt_id], part === 'main' ? ['RE', 1] : ['TLE', 2])
      await assertOnce(jobId)
      await first.stop()
      await untilNoCgroup()
    })
  }
})

// What a drill breaks: processes that serve and work, PostgreSQL, Redis, and the network between them. Every fault says how it is
// mended; all parts are back when all are mended.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { atEnd } from '../../support/cleanup.ts'
import { judgeCache } from '../../support/judge-cache.ts'
import { socketOf, startProxy, type Proxy } from '../../support/proxy.ts'
import { freePort, startRedis, temporaryFolder, type PgConnection } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { ENV as CHALLENGE_ENV } from '../../contract/challenge/setup.ts'
import { killablePostgres } from '../killable-postgres.ts'
import { dataFolder, spawnReeve, type Reeve } from '../reeve.ts'
import type { FeedName } from '../rig.ts'

const PROCESSES_EACH = 2

export const LEASE_SEC = 3
export const GRACE_SEC = 1
export const INTERVAL_SEC = 1
const MARGIN_SEC = 5

/** docs/how-it-works.md: how long after all parts are back a job may wait, with this feed. */
export const BOUND_SEC: Record<FeedName, number> = {
  PostgreSQL: LEASE_SEC + MARGIN_SEC,
  'PostgreSQL + Redis': LEASE_SEC + GRACE_SEC + INTERVAL_SEC + MARGIN_SEC,
}

/** Of a match, with either feed: servers look for abandoned matches themselves. */
export const MATCH_BOUND_SEC = LEASE_SEC + MARGIN_SEC

const SETTINGS = {
  ...CHALLENGE_ENV,
  DOORS: 'judge,challenge,pool,desk,arena',
  JOB_LEASE_SEC: String(LEASE_SEC),
  JOB_HEARTBEAT_SEC: '1',
  JOB_RECLAIM_GRACE_SEC: String(GRACE_SEC),
  JOB_RECLAIM_INTERVAL_SEC: String(INTERVAL_SEC),
  JOB_MAX_ATTEMPTS: '1000',
  JOB_RETRY_MAX_MS: '1000',
  POOL_LEASE_SECONDS: String(LEASE_SEC),
  SESSION_LEASE_SECONDS: String(LEASE_SEC),
  SESSION_TICKS: '40',
  MATCH_QUEUE_TIMEOUT_SECONDS: '3600',
  JUDGE_SAMPLE_PROBLEMS: 'false',
  JUDGE_SLOTS: '1',
  SUBMIT_RATE_LIMIT_MAX: '100000',
  QUOTA_SUBMISSIONS_WAITING: '100000',
  LOG_LEVEL: 'silent',
}

export interface Fault {
  name: string
  /** The part that it breaks: a part is broken in one way at a time. */
  part: string
  inflict(): Promise<void> | void
  mend(): Promise<void> | void
}

export interface Parts {
  /** Beside the proxies. */
  at: PgConnection
  urls: readonly string[]
  faults: readonly Fault[]
}

export async function startParts(t: TestContext, feed: FeedName): Promise<Parts> {
  const postgres = await killablePostgres(t)
  const proxy = await startProxy(t, socketOf(postgres.at))
  const redis = feed === 'PostgreSQL' ? null : await killableRedis(t)
  const languages = join(await temporaryFolder(t), 'languages.json')
  await writeFile(languages, JSON.stringify({ java: null, javascript: null, rust: null }))
  const settings = {
    ...SETTINGS,
    DATABASE_URL: `postgres://${postgres.at.user}@127.0.0.1:${proxy.port}/${postgres.at.database}`,
    JUDGE_CACHE_DIR: await judgeCache(),
    JUDGE_LANGUAGES_FILE: languages,
    ...(redis === null ? {} : { REDIS_URL: `redis://127.0.0.1:${redis.proxy.port}` }),
  }
  const folder = await dataFolder(t)
  const numbers = Array.from({ length: PROCESSES_EACH }, (_, n) => n)
  const serving = await Promise.all(numbers.map(() => killableProcess(t, 'serve', { folder, settings })))
  await serving[0]?.isReady() // it migrates
  const working = await Promise.all(numbers.map(() => killableProcess(t, 'work', { folder, settings })))
  await Promise.all([...serving, ...working].map((one) => one.isReady()))

  return {
    at: postgres.at,
    urls: serving.map(({ url }) => url),
    faults: [
      ...serving.flatMap((one, n) => processFaults(`serving process ${n}`, one)),
      ...working.flatMap((one, n) => processFaults(`working process ${n}`, one)),
      { name: 'PostgreSQL killed', part: 'PostgreSQL', inflict: postgres.kill, mend: postgres.startAgain },
      partition('PostgreSQL', proxy),
      ...(redis === null
        ? []
        : [
            { name: 'Redis killed', part: 'Redis', inflict: redis.kill, mend: redis.startAgain },
            partition('Redis', redis.proxy),
          ]),
    ],
  }
}

const partition = (part: string, proxy: Proxy): Fault => ({
  name: `${part} behind a silent partition`,
  part,
  inflict: () => proxy.partition(),
  mend: () => proxy.heal(),
})

type KillableProcess = Awaited<ReturnType<typeof killableProcess>>

const processFaults = (part: string, one: KillableProcess): Fault[] => [
  { name: `${part} killed`, part, inflict: one.kill, mend: one.startAgain },
  { name: `${part} frozen`, part, inflict: () => one.signal('SIGSTOP'), mend: () => one.signal('SIGCONT') },
]

async function killableProcess(
  t: TestContext,
  command: 'serve' | 'work',
  { folder, settings }: { folder: string; settings: Record<string, string> },
) {
  const port = await freePort()
  const start = () => spawnReeve(t, folder, { ...settings, SERVER_PORT: String(port) }, command)
  let running: Reeve = start()
  const isReady = () => until(`${command} is ready`, () => /is ready at|is working/.test(running.said()), running.said)
  return {
    url: `http://127.0.0.1:${port}`,
    isReady,
    signal: (signal: NodeJS.Signals) => running.signal(signal),
    async kill() {
      running.signal('SIGKILL')
      await running.exited
    },
    /** One that could not start because another part is away is started once more. */
    async startAgain() {
      for (;;) {
        running = start()
        const ended = await Promise.race([running.exited.then(() => true), isReady().then(() => false)])
        if (!ended) return
      }
    },
  }
}

async function killableRedis(t: TestContext) {
  const port = await freePort()
  const dir = await temporaryFolder(t)
  let child: ChildProcess = (await startRedis({ port, dir })).child
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  atEnd(t, kill)
  return {
    proxy: await startProxy(t, { host: '127.0.0.1', port }),
    kill,
    async startAgain() {
      child = (await startRedis({ port, dir })).child
    },
  }
}

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { lintDeployment } from './deploy.ts'
import { followReadme, whyNoMachine } from './fresh-machine.ts'
import { startPostgresOf } from './postgres-versions.ts'
import { noSandboxes, testSandboxes } from './sandbox.ts'
import { upgradeUnderLoad, whyNoUpgrade } from './upgrade.ts'

export interface Part {
  name: string
  what: string
  /** Why it cannot run here, or null. */
  skip(): string | null
  run(): Promise<boolean>
}

/** The latest release of each supported major that the npm package has. 18 is what `npm test` runs on. */
const POSTGRES_VERSIONS = { 15: '15.18.0-beta.17', 16: '16.14.0-beta.17', 17: '17.10.0-beta.17', 18: '18.4.0-beta.17' }
const ON_POSTGRES = [
  'test/ledger',
  'test/model',
  'test/race',
  'test/feed',
  'test/outbox',
  'test/events',
  'test/contract',
]

const FUZZ_FACTOR = 40
const FUZZED = [
  'test/model',
  'test/arena',
  'test/desk',
  'test/judge/compare',
  'test/contract/desk/bad-input',
  'test/pool/canonical-json',
]

const FUZZED_REQUESTS = 1_000_000

const AWAY_SEC = 60
const DRILL_ROUNDS = 25
const STORM_FACTOR = 5
const RACES_FACTOR = 5

const YEAR_JOBS = 10_000_000

const ROWS_FACTOR = 10
const WITH_ROWS = ['test/ledger/plans', 'test/arena/plans', 'test/challenge/plans', 'test/desk/plans']

export const PARTS: readonly Part[] = [
  ...Object.entries(POSTGRES_VERSIONS).map(([major, version]) => ({
    name: `postgresql-${major}`,
    what: `the ledger, races, feeds and doors on PostgreSQL ${version}`,
    skip: notHere,
    run: async () => {
      const server = await startPostgresOf(version)
      try {
        return npmTest(ON_POSTGRES, { REEVE_TEST_POSTGRES: JSON.stringify(server.at) })
      } finally {
        await server.stop()
      }
    },
  })),
  {
    name: 'fuzz',
    what: `property tests with ${FUZZ_FACTOR} times as many cases`,
    skip: () => null,
    run: async () => npmTest(FUZZED, { REEVE_TEST_FUZZ: String(FUZZ_FACTOR) }),
  },
  {
    name: 'year',
    what: `retention in a year of ${YEAR_JOBS} jobs: sizes of tables, time of a pass`,
    skip: () => null,
    run: async () => ran('test/retention/year.test.ts', { REEVE_TEST_YEAR_JOBS: String(YEAR_JOBS) }),
  },
  {
    name: 'outage',
    what: `PostgreSQL away for ${AWAY_SEC} s; an S3 store that drops every packet`,
    skip: () => null,
    run: async () =>
      npmTest(['test/degradation/servers-away'], { REEVE_TEST_AWAY_SEC: String(AWAY_SEC), REEVE_TEST_SILENT_S3: '1' }),
  },
  {
    name: 'wal-full',
    what: 'no room for the log of the embedded PostgreSQL',
    skip: () => notHere() ?? (process.getuid?.() === 0 ? null : 'only root may mount a small disk'),
    run: async () => ran('test/degradation/wal-full.ts', {}),
  },
  {
    name: 'fuzz-http',
    what: `${FUZZED_REQUESTS} random requests to every route`,
    skip: () => null,
    // By itself: it takes longer than the limit of a file of `npm test`.
    run: async () => ran('test/security/fuzz.test.ts', { REEVE_FUZZ_REQUESTS: String(FUZZED_REQUESTS) }),
  },
  {
    name: 'rows',
    what: `plans of hot statements on tables ${ROWS_FACTOR} times as large, up to two million rows`,
    skip: () => null,
    run: async () => npmTest(WITH_ROWS, { REEVE_TEST_ROWS: String(ROWS_FACTOR) }),
  },
  {
    name: 'drill',
    what: `${DRILL_ROUNDS} rounds of kills and partitions on each feed, with the time of recovery`,
    skip: notHere,
    run: async () => npmTest(['test/crash/drill'], { REEVE_TEST_DRILL_ROUNDS: String(DRILL_ROUNDS) }),
  },
  {
    name: 'deploy',
    what: 'the linters of what lies in deploy/; the image, built and run; the reverse proxies',
    skip: notHere,
    run: async () => (await lintDeployment()) && ran('test/slow/proxies.ts', {}),
  },
  {
    name: 'races',
    what: `races for seats and tasks, with ${RACES_FACTOR} times as many rounds`,
    skip: () => null,
    run: async () => npmTest(['test/race/desk', 'test/race/arena-queue'], { REEVE_TEST_RACES: String(RACES_FACTOR) }),
  },
  {
    name: 'storm',
    what: `kills of pool workers and arena nodes, with ${STORM_FACTOR} times as many jobs and matches`,
    skip: notHere,
    run: async () =>
      npmTest(['test/crash/pool.', 'test/crash/arena-storm'], { REEVE_TEST_STORM: String(STORM_FACTOR) }),
  },
  {
    name: 'upgrade',
    what: 'processes of the last release and of this tree side by side, under load, on each feed',
    skip: () => notHere() ?? whyNoUpgrade(),
    run: upgradeUnderLoad,
  },
  {
    name: 'fresh-machine',
    what: 'a new Debian in a folder follows the README and the systemd guide to a running server',
    skip: whyNoMachine,
    run: followReadme,
  },
  {
    name: 'sandbox',
    what: 'the attacks on the sandbox with cgroup v1 and v2, as root and as a plain user',
    skip: () => notHere() ?? noSandboxes(),
    run: testSandboxes,
  },
]

function notHere(): string | null {
  return process.platform === 'linux' && existsSync('/proc') ? null : 'this is not Linux'
}

function ran(file: string, env: Record<string, string>): boolean {
  const options = ['--import', 'tsx', '--test', file]
  return spawnSync(process.execPath, options, { stdio: 'inherit', env: { ...process.env, ...env } }).status === 0
}

/** Whether these tests pass with these settings. */
function npmTest(starts: readonly string[], env: Record<string, string>): boolean {
  const child = spawnSync('npm', ['test', '--', ...starts], { stdio: 'inherit', env: { ...process.env, ...env } })
  return child.status === 0
}

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { lintDeployment } from './deploy.ts'
import { followReadme } from './fresh-machine.ts'
import { startPostgresOf } from './postgres-versions.ts'

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

const DRILL_ROUNDS = 25
const STORM_FACTOR = 5

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
    what: 'the linters of what lies in deploy/ and cannot be run here',
    skip: notHere,
    run: lintDeployment,
  },
  {
    name: 'storm',
    what: `kills of servers and workers of the pool, with ${STORM_FACTOR} times as many jobs`,
    skip: notHere,
    run: async () => npmTest(['test/crash/pool.'], { REEVE_TEST_STORM: String(STORM_FACTOR) }),
  },
  {
    name: 'fresh-machine',
    what: 'a new Debian in a folder follows the README to a running server',
    skip: () =>
      notHere() ?? (process.getuid?.() !== 0 ? 'not root' : has('debootstrap') ? null : 'debootstrap is not installed'),
    run: followReadme,
  },
]

const has = (program: string): boolean => spawnSync('which', [program]).status === 0

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

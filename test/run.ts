// `npm test`: format, lint, types, then every test against one PostgreSQL and one Redis that are started here.
// `npm test -- test/race` runs only the tests whose path begins so, and skips the checks.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { compiled, compileTests } from './compile.ts'
import { startPostgres, startRedis } from './support/servers.ts'

const CONCURRENCY = 3 // one more than the cores of a small machine: tests wait as much as they work
const FILE_TIMEOUT_MS = 900_000

const only = process.argv.slice(2)
if (only.length === 0) {
  check('format', 'npx', ['oxfmt', '--check'])
  check('lint', 'npx', ['oxlint', '--deny-warnings'])
  check('types', 'npx', ['tsc', '-b'])
}
compile()
needProgram('redis-server', 'redis-server')
if (only.length === 0 || only.some((start) => start.startsWith('test/browser'))) {
  wantProgram('chromium', 'chromium', 'the tests in a browser are skipped')
}
process.exitCode = await runTests()

async function runTests(): Promise<number> {
  const files = ['src', 'sdk/src', 'test']
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
    .filter((file) => file.endsWith('.test.ts') && (only.length === 0 || only.some((start) => file.startsWith(start))))
    .sort()
  if (files.length === 0) {
    console.error(`No test file begins with ${only.join(' or ')}.`)
    return 1
  }
  const postgres = await startPostgres()
  const redis = await startRedis()
  try {
    const options = [
      '--enable-source-maps',
      '--test',
      `--test-concurrency=${CONCURRENCY}`,
      `--test-timeout=${FILE_TIMEOUT_MS}`,
      '--test-reporter=spec',
    ]
    const child = spawn(process.execPath, [...options, ...files.map(compiled)], {
      stdio: 'inherit',
      env: { ...process.env, REEVE_TEST_POSTGRES: JSON.stringify(postgres.at), REEVE_TEST_REDIS: redis.at },
    })
    const stop = () => child.kill('SIGTERM')
    process.once('SIGINT', stop).once('SIGTERM', stop)
    const [code] = await once(child, 'exit')
    return typeof code === 'number' ? code : 1
  } finally {
    await redis.stop()
    await postgres.stop()
  }
}

function check(what: string, command: string, options: string[]): void {
  const { status, stdout, stderr } = spawnSync(command, options, { encoding: 'utf8' })
  if (status === 0) return console.log(`✔ ${what}`)
  console.error(`✖ ${what}: ${command} ${options.join(' ')}\n${stdout}${stderr}`)
  process.exit(1)
}

function compile(): void {
  const wrong = compileTests()
  if (wrong === null) return console.log('✔ types of tests')
  console.error(`✖ types of tests\n${wrong}`)
  process.exit(1)
}

function needProgram(program: string, debianPackage: string): void {
  if (isInstalled(program, debianPackage)) return
  console.error(`The tests need ${program}. Install it first: sudo apt-get install ${debianPackage}`)
  process.exit(1)
}

function wantProgram(program: string, debianPackage: string, otherwise: string): void {
  if (!isInstalled(program, debianPackage)) console.log(`${program} is missing: ${otherwise}`)
}

/** Installs a Debian package where that is allowed. */
function isInstalled(program: string, debianPackage: string): boolean {
  const isThere = () => spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined
  if (isThere()) return true
  console.log(`${program} is missing: trying apt-get install ${debianPackage}`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  spawnSync('apt-get', ['update', '-qq'], { stdio: 'ignore', env })
  // Its service must not start: the tests start servers of their own.
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', debianPackage], {
    stdio: 'ignore',
    env: { ...env, RUNLEVEL: '1' },
  })
  return isThere()
}

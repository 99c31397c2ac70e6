// `npm test`: format, lint, types, then every test against one PostgreSQL and one Redis that are started here.
//
//   npm test -- test/race src/core    only the tests whose path begins so, without the checks, with every test's name
//   npm test -- --quick               in about a minute: the checks, and the tests that CONTRIBUTING.md names
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { buildConsole, compileTests } from './compile.ts'
import { runFiles } from './runner/run-files.ts'
import { inGroups } from './runner/groups.ts'
import { inOrder, QUICK } from './runner/order.ts'
import { report } from './runner/report.ts'
import { openScratch } from './runner/scratch.ts'
import { warmTree } from './runner/warm-tree.ts'
import { makeCluster } from './support/cluster.ts'
import { startPostgres, startRedis, type PgConnection, type Server } from './support/servers.ts'

const args = process.argv.slice(2)
const isQuick = args.includes('--quick')
const starts = isQuick ? QUICK : args
const isWhole = args.length === 0

const began = performance.now()
const tree = isWhole || isQuick ? await checkAll() : await compile()
needProgram('redis-server', 'redis-server')
if (runs('test/documents')) for (const program of ['jq', 'curl', 'openssl']) needProgram(program, program) // samples use them
if (runs('test/watch')) wantProgram('promtool', 'prometheus', 'alert rules and dashboard are not evaluated')
if (runs('test/browser')) {
  // Older releases of Debian have no headless shell.
  if (!isInstalled('chromium-headless-shell', 'chromium-headless-shell'))
    wantProgram('chromium', 'chromium', 'the tests in a browser are skipped')
  build()
}
process.exitCode = await runTests()

function runs(folder: string): boolean {
  return isWhole || starts.some((start) => start.startsWith(folder))
}

async function runTests(): Promise<number> {
  const files = testFiles()
  if (files.length === 0) {
    console.error(`No test file begins with ${starts.join(' or ')}.`)
    return 1
  }
  const scratch = openScratch()
  const postgres = given() ?? (await startPostgres())
  const redis = await startRedis()
  try {
    const env = {
      ...process.env,
      REEVE_TEST_POSTGRES: JSON.stringify(postgres.at),
      REEVE_TEST_REDIS: redis.at,
      REEVE_TEST_JUDGE: scratch.shared,
      REEVE_TEST_CLUSTER: await makeCluster(scratch.shared),
    }
    await warmTree(tree, env, scratch)
    const ordered = inOrder(files)
    const groups = isWhole || isQuick ? inGroups(ordered) : ordered.map((file) => [file])
    const ran = await runFiles(groups, { env, scratch, isVerbose: !isWhole && !isQuick })
    return report(ran, performance.now() - began)
  } finally {
    await redis.stop()
    await postgres.stop()
    scratch.close()
  }
}

/** The server that `npm run test:slow` has started, of another version. */
function given(): Server<PgConnection> | null {
  const at = process.env['REEVE_TEST_POSTGRES']
  return at === undefined ? null : { at: JSON.parse(at), stop: async () => {} }
}

function testFiles(): string[] {
  return ['src', 'sdk/src', 'test']
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
    .filter((file) => file.endsWith('.test.ts') && (isWhole || starts.some((start) => file.startsWith(start))))
}

async function checkAll(): Promise<string> {
  const [tree] = await Promise.all([
    compile(),
    check('format', 'oxfmt', ['--check']),
    check('lint', 'oxlint', ['--deny-warnings']),
  ])
  if (existsSync('bench/node_modules')) await check('types of benchmarks', 'tsc', ['-p', 'bench'])
  return tree
}

async function check(what: string, command: string, options: string[]): Promise<void> {
  const child = spawn(join('node_modules/.bin', command), options, { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text))
  const [code] = await once(child, 'close')
  if (code === 0) return console.log(`✔ ${what}`)
  console.error(`✖ ${what}: ${command} ${options.join(' ')}\n${said}`)
  process.exit(1)
}

/** The tree of what was compiled (`runner/tree.ts`). */
async function compile(): Promise<string> {
  const made = await compileTests()
  if ('tree' in made) {
    console.log('✔ types')
    return made.tree
  }
  console.error(`✖ types\n${made.wrong}`)
  process.exit(1)
}

function build(): void {
  const wrong = buildConsole()
  if (wrong === null) return console.log('✔ console')
  console.error(`✖ console\n${wrong}`)
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

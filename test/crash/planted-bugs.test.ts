// Who kills the killers: bugs are planted in a copy of the source, one at a time, and the test that watches for it must fail
// there, with the words that say so. A mutation whose place is gone fails as well: then it has to be planted anew.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { bundle } from '../runner/bundle.ts'
import { sharedPostgres, temporaryFolder } from '../support/servers.ts'
import { TIMEOUT, type FeedForm } from './rig.ts'

const ROOT = process.cwd() // bugs are planted in what people wrote, not in what was compiled of it
const STARTED = ['test/crash/worker-process.ts', 'test/crash/submitter-process.ts']
const READ = ['src', 'package.json'] // migrations, scripts for Redis
const PATIENCE_MS = 15_000 // for what a planted bug prevents; for all else there is time, also on a busy machine

interface Watch {
  file: string
  /** Of the test's name. */
  name: string
  feed: FeedForm
}

interface Bug {
  name: string
  in: string
  find: string
  replace: string
  watch: Watch
  /** What the failing test says. */
  says: RegExp
  /** What the test waits for never comes. */
  isEndless?: boolean
}

const REDIS = 'PostgreSQL + Redis'
const STREAMS = 'PostgreSQL + Redis streams'
const FLUSHED: Watch = { file: 'redis-loss.test.ts', name: 'flushed before any worker came', feed: REDIS }

const BUGS: readonly Bug[] = [
  {
    name: 'a finalize without its fence',
    in: 'src/core/ledger/finalize.ts',
    find: `and \${fence('$2', '$3')}`, // test/ledger/finalize.test.ts watches the other statement
    replace: `and $2::integer is not null and $3::text is not null`,
    watch: { file: 'frozen.test.ts', name: 'frozen past its lease is refused', feed: 'PostgreSQL' },
    says: /effects/,
  },
  {
    name: 'an acknowledge before the finalize',
    in: 'src/core/executor/attempt.ts',
    find: `if (onStep !== undefined) await onStep('worked', job)`,
    replace: `await acknowledge()\n if (onStep !== undefined) await onStep('worked', job)`,
    watch: { file: 'steps.test.ts', name: 'when it is at "worked"', feed: STREAMS },
    says: /the entry of the job is still there/,
  },
  {
    name: 'a group that begins at the end of its stream',
    in: 'src/core/feed/redis/streams/groups.ts',
    find: `group, '0', 'MKSTREAM'`,
    replace: `group, '$', 'MKSTREAM'`,
    watch: { file: 'steps.test.ts', name: 'announced before the first worker came', feed: STREAMS },
    says: /announced once/,
  },
  {
    name: 'no repair',
    in: 'src/core/feed/redis/feed.ts',
    find: '[reclaim(kinds), repair.loop(kinds)]',
    replace: '[reclaim(kinds)]',
    watch: FLUSHED,
    says: /never: every job has ended/,
    isEndless: true,
  },
  {
    name: 'an acquire by id that does not look at the lease',
    in: 'src/core/ledger/acquire.ts',
    find: `state = 'processing' and lease_until <= clock_timestamp() as abandoned`,
    replace: `state = 'processing' as abandoned`,
    watch: { file: 'steps.test.ts', name: 'a job with a live holder is left', feed: REDIS },
    says: /only its holder worked on it|lease_expired/,
  },
  {
    name: 'an acquire of the next job that does not look at the lease',
    in: 'src/core/ledger/acquire.ts',
    find: 'else lease_until <= clock_timestamp() and coalesce(attempt_id',
    replace: 'else coalesce(attempt_id',
    watch: { file: 'steps.test.ts', name: 'a job with a live holder is left', feed: 'PostgreSQL' },
    says: /only its holder worked on it|lease_expired/,
  },
]

describe('planted bugs', { concurrency: 2 }, () => {
  test('with nothing planted, the copy passes', TIMEOUT, async (t) => {
    const { output, code } = await run(t, await compile(t, FLUSHED), FLUSHED, {})

    assert.equal(code, 0, output)
    assert.match(output, /^# pass 1$/m)
  })

  for (const bug of BUGS) {
    test(`${bug.name} is found`, TIMEOUT, async (t) => {
      const parts = (await readFile(join(ROOT, bug.in), 'utf8')).split(bug.find)
      assert.equal(parts.length, 2, `${bug.in} should have this once: ${bug.find}`)
      const folder = await compile(t, bug.watch, new Map([[bug.in, parts.join(bug.replace)]]))

      const patience = bug.isEndless === true ? { REEVE_TEST_PATIENCE_MS: String(PATIENCE_MS) } : {}
      const { output } = await run(t, folder, bug.watch, patience)

      assert.match(output, /^# fail 1$/m, output)
      assert.match(output, bug.says)
    })
  }
})

/** The watching test and what it starts, with what they read beside them. */
async function compile(t: TestContext, { file }: Watch, changed?: ReadonlyMap<string, string>): Promise<string> {
  const folder = await temporaryFolder(t)
  await bundle([`test/crash/${file}`, ...STARTED], folder, changed)
  const isData = (path: string) => !path.endsWith('.ts')
  for (const name of READ) await cp(join(ROOT, name), join(folder, name), { recursive: true, filter: isData })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** In a group of its own, so that whatever it started goes with it. */
async function run(t: TestContext, folder: string, { file, name, feed }: Watch, patience: Record<string, string>) {
  const postgres = await sharedPostgres()
  const { NODE_TEST_CONTEXT: _, ...env } = process.env // or it would speak to this runner
  const pattern = name.replaceAll('"', '.')
  const script = `test/crash/${file.replace(/\.ts$/, '.js')}`
  const args = ['--enable-source-maps', '--test-reporter=tap', `--test-name-pattern=${pattern}`, script]
  const child = spawn(process.execPath, args, {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...env,
      TMPDIR: folder,
      REEVE_TEST_POSTGRES: JSON.stringify(postgres),
      ...patience,
      REEVE_TEST_FEED: feed,
    },
  })
  const { pid } = child
  assert(pid !== undefined)
  atEnd(t, () => killGroup(pid))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code]: unknown[] = await once(child, 'close')
  return { output, code }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // nothing of it is left, as it should be
  }
}

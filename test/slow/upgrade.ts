// An upgrade under load: processes of the last release run, new ones migrate the database beside them, the old ones are stopped. Nothing
// that was accepted is lost or done twice, and nobody is answered with a 5xx that is not documented.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/core/db/database.ts'
import { urlOf } from '../support/reeve.ts'
import { startPostgres, startRedis } from '../support/servers.ts'
import { openBalancer } from './balancer.ts'
import { startLoad, type Load } from './load.ts'
import { startProcess } from './process.ts'
import { has, run } from './program.ts'

/** Operations of each kind, in each phase: before, side by side, after. */
const OPERATIONS = 60
const MIGRATIONS = 'dist/core/migrations'

/** As CONTRIBUTING.md wants it: a column without a default, one with a constant, an index on a new table, a constraint that is not validated. */
const SYNTHETIC = `
create table upgrade_notes (note_id bigint generated always as identity primary key, job_id uuid not null, note text);
create index upgrade_notes_by_job on upgrade_notes (job_id);
alter table accounts add column upgrade_note text;
alter table jobs add column upgrade_note text;
alter table attempts add column upgrade_number integer not null default 0;
alter table outbox_events add column upgrade_note text;
alter table jobs add constraint upgrade_note_short check (length(upgrade_note) < 100) not valid;
`

interface Release {
  version: string
  commit: string
}

/** The last one before this commit; null: the clone does not reach so far. */
function lastRelease(): Release | null {
  const log = ['log', 'HEAD~1', '-1', '-E', '--grep', '^Release [0-9.]+$', '--format=%H %s']
  const { stdout } = spawnSync('git', log, { encoding: 'utf8' })
  const [, commit, version] = /^([0-9a-f]{40}) Release (\S+)$/m.exec(stdout) ?? []
  return commit === undefined || version === undefined ? null : { commit, version }
}

export function whyNoUpgrade(): string | null {
  if (lastRelease() === null) return 'this clone has no release in it'
  return has('redis-server') ? null : 'redis-server is not installed'
}

export async function upgradeUnderLoad(): Promise<boolean> {
  const release = lastRelease()
  assert(release !== null)
  const folder = mkdtempSync(join(tmpdir(), 'reeve-upgrade-'))
  try {
    run('npm', ['run', '--silent', 'build'])
    const [before, after] = [join(folder, 'before'), join(folder, 'after')]
    putRelease(release, before)
    putThis(after)
    for (const feed of ['PostgreSQL', 'Redis'] as const) {
      const redis = feed === 'Redis' ? await startRedis() : null
      try {
        await upgrade({ before, after, folder, redisUrl: redis?.at ?? null })
      } finally {
        await redis?.stop()
      }
      console.log(`✔ from ${release.version}, ${feed} feed`)
    }
    return true
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Built as it was released. The packages are those of this tree where they are the same. */
function putRelease({ commit }: Release, folder: string): void {
  mkdirSync(folder)
  run('sh', ['-c', 'git archive "$1" | tar -x -C "$0"', folder, commit])
  const lock = 'package-lock.json'
  if (readFileSync(lock, 'utf8') === readFileSync(join(folder, lock), 'utf8')) {
    run('cp', ['-al', 'node_modules', join(folder, 'node_modules')])
    run('npm', ['run', '--silent', 'build', '--prefix', folder])
  } else run('npm', ['ci', '--no-audit', '--no-fund', '--prefix', folder])
}

/** This tree as it is built, and one migration more. */
function putThis(folder: string): void {
  mkdirSync(folder)
  const left = ['.git', 'build', 'data']
  for (const name of readdirSync('.').filter((one) => !left.includes(one))) run('cp', ['-al', name, folder])
  const number = readdirSync(join(folder, MIGRATIONS)).length + 1
  writeFileSync(join(folder, MIGRATIONS, `${String(number).padStart(3, '0')}_upgrade.sql`), SYNTHETIC)
}

interface Upgrade {
  before: string
  after: string
  folder: string
  redisUrl: string | null
}

async function upgrade({ before, after, folder, redisUrl }: Upgrade): Promise<void> {
  const postgres = await startPostgres()
  const balancer = await openBalancer()
  const database = openDatabase(postgres.at, () => {})
  const env = {
    DATABASE_URL: urlOf(postgres.at),
    ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
    REEVE_DATA_DIR: join(folder, 'data'),
    SOLVER_URL: balancer.url,
    PUBLIC_CALLBACK_HOST: balancer.url,
  }
  const processes = new Set<{ kill(): void }>()
  const start = async (tree: string, command: 'serve' | 'work') => {
    const started = await startProcess(tree, command, env)
    processes.add(started)
    if (started.port !== null) balancer.add(started.port)
    return started
  }
  try {
    const old = [await start(before, 'serve'), await start(before, 'work')]
    const load = await startLoad(balancer.url)
    await load.done(OPERATIONS)

    // The first of them migrates.
    const newest = [await start(after, 'serve'), await start(after, 'work')]
    await load.done(OPERATIONS)
    for (const { port } of old) if (port !== null) balancer.remove(port)
    for (const { stop } of old) assert.equal(await stop(), 0)
    await load.done(OPERATIONS)

    await load.stop()
    await load.check()
    await checkCounts(database, load)
    for (const { stop } of newest) assert.equal(await stop(), 0)
  } finally {
    for (const one of processes) one.kill()
    await balancer.close()
    await database.close()
    await postgres.stop()
    rmSync(join(folder, 'data'), { recursive: true, force: true })
  }
}

type Counted = Pick<ReturnType<typeof openDatabase>, 'query'>

/** What is in the database is what was accepted, no more and no less. */
async function checkCounts(database: Counted, { accepted }: Load): Promise<void> {
  const applied = await database.query(`select from migrations where name like '%_upgrade.sql'`)
  assert.equal(applied.length, 1, 'the new processes have migrated')
  const rows = await database.query<{ kind: string; state: string; jobs: number }>(
    `select kind, state, count(*)::integer as jobs from jobs group by kind, state order by kind, state`,
  )
  const expected = Object.entries(accepted()).map(([kind, jobs]) => ({ kind, state: 'done', jobs }))
  assert.deepEqual(
    rows.map(({ kind, state, jobs }) => ({ kind, state, jobs })),
    expected.toSorted((a, b) => (a.kind < b.kind ? -1 : 1)),
  )
}

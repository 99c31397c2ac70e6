import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, test } from 'node:test'
import { migrate, pendingMigrations } from '../../src/core/db/migrate.ts'
import { lockStatements, locksOf } from '../../src/core/db/migration-locks.ts'
import { openDatabase } from '../../src/core/db/database.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { atEnd } from '../support/cleanup.ts'
import { testDatabase } from '../support/database.ts'
import { temporaryFolder } from '../support/servers.ts'

const core = migrationFolders().filter(({ owner }) => owner === 'core')

const MIGRATION = `
-- alter table jobs add column never text;
create table notes (note_id bigint primary key, job_id uuid not null);
create index notes_by_job on notes (job_id);
alter table accounts add column nickname text;
create index accounts_by_nickname
    on accounts (nickname);
create unique index concurrently x on tokens (address);
alter table jobs validate constraint some_rule;
update backups set bytes = 0;
`

describe('the plan of a migration', () => {
  test('says which are pending, which tables they lock and who waits, and changes nothing', async (t) => {
    const { database } = await testDatabase(t)
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, '001_notes.sql'), MIGRATION)
    const folders = [...core, { owner: 'notes', folder: pathToFileURL(`${folder}/`) }]

    const [plan, ...others] = await locksOf(database, await pendingMigrations(database, folders))

    assert.deepEqual(others, [])
    assert.equal(plan?.name, 'notes/001_notes.sql')
    assert.deepEqual(
      plan?.locks.map(({ table, waits }) => [table, waits]),
      [
        ['accounts', 'reads and writes'],
        ['accounts', 'writes'],
        ['tokens', 'nothing'],
        ['jobs', 'nothing'],
        ['backups', 'writes'],
      ],
    )
    assert.deepEqual(await pendingMigrations(database, core), [])
    assert.deepEqual(await database.query(`select to_regclass('notes') as made`), [{ made: null }])
  })

  const forms: readonly [sql: string, locks: readonly [table: string, waits: string][]][] = [
    [
      'lock table only jobs, "attempts" in exclusive mode nowait',
      [
        ['jobs', 'reads and writes'],
        ['attempts', 'reads and writes'],
      ],
    ],
    ['alter table if exists public.jobs set (fillfactor = 50)', [['jobs', 'reads and writes']]],
    [
      'truncate table events, audits restart identity cascade',
      [
        ['events', 'reads and writes'],
        ['audits', 'reads and writes'],
      ],
    ],
    ['create table notes (account_id bigint references accounts, n integer)', [['accounts', 'writes']]],
    [
      'drop table tokens',
      [
        ['tokens', 'reads and writes'],
        ['accounts', 'reads and writes'],
      ],
    ],
    ['drop index if exists tokens_by_account', [['tokens', 'reads and writes']]],
    ['drop trigger jobs_deleted on jobs', [['jobs', 'reads and writes']]],
    ['delete from tokens where expires_at < now()', [['tokens', 'writes']]],
    ['insert into events(topic) values (1)', [['events', 'nothing']]],
    ['create function f() returns void language sql as $body$ delete from jobs; truncate events $body$', []],
  ]
  for (const [sql, locks] of forms) {
    test(`knows what is locked by: ${sql.slice(0, 40)}`, async (t) => {
      const { database } = await testDatabase(t)

      const [plan] = await locksOf(database, [{ name: 'one', sql: `${sql};` }])

      assert.deepEqual(
        plan?.locks.map(({ table, waits }) => [table, waits]),
        locks,
      )
    })
  }

  test('locks accounts first, the tables of the ledger last, each once and as strongly as it is needed', async (t) => {
    const { database } = await testDatabase(t)
    const sql =
      'update jobs set kind = kind; alter table jobs set (fillfactor = 50); update tokens set account_id = 1; drop table tokens;'

    const locks = await lockStatements(database, [{ name: 'one', sql }])

    assert.deepEqual(locks, [
      'lock table "accounts" in access exclusive mode',
      'lock table "tokens" in access exclusive mode',
      'lock table "jobs" in access exclusive mode',
    ])
  })

  test('a migration that cannot get its lock gives up with a sentence, and changes nothing', async (t) => {
    const { database, at } = await testDatabase(t)
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, '001_slow.sql'), `alter table accounts add column nickname text;`)
    const folders = [{ owner: 'slow', folder: pathToFileURL(`${folder}/`) }]
    const other = openDatabase(at, () => {})
    atEnd(t, () => other.close())

    await other.transaction(async (tx) => {
      await tx.query('set local idle_in_transaction_session_timeout = 0')
      await tx.query('lock table accounts in access share mode')
      await assert.rejects(migrate(database, folders), /waited 5 s for a lock and gave up; nothing was changed/)
    })

    assert.equal((await pendingMigrations(database, folders)).length, 1)
    assert.deepEqual(await migrate(database, folders), ['slow/001_slow.sql'])
  })
})

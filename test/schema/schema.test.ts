import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { migrationFolders } from '../../src/doors/outline.ts'
import { testDatabase } from '../support/database.ts'
import { describeSchema } from './describe-schema.ts'

const DOORS = migrationFolders().filter(({ owner }) => owner !== 'core')

const TRIGGERS = `
  select t.tgname as trigger, c.relname as table from pg_trigger t join pg_class c on c.oid = t.tgrelid
   where not t.tgisinternal order by 1`

const FOREIGN_KEYS = `
  select conrelid::regclass::text as "from", confrelid::regclass::text as "to" from pg_constraint where contype = 'f'`

const AUTOMATIC_NAMES = `
  select conname as name from pg_constraint c
   where connamespace = 'public'::regnamespace
     and (contype = 'c' and conname ~ '_check[0-9]*$'
          or contype = 'u' and conname = (
            select conrelid::regclass || '_' || string_agg(attname, '_' order by array_position(conkey, attnum)) || '_key'
              from pg_attribute where attrelid = conrelid and attnum = any (conkey)))`

describe('the schema', () => {
  test('docs/schema.sql is what the migrations make (npm run schema writes it)', async (t) => {
    const { database } = await testDatabase(t, DOORS)

    assert.equal(await describeSchema(database), await readFile('docs/schema.sql', 'utf8'))
  })

  test('no door has a trigger on a table of the core or of another door', async (t) => {
    const core = await tablesOf(t, [])
    const own = await (await testDatabase(t, [])).database.query<{ trigger: string }>(TRIGGERS)
    const ownNames = own.map(({ trigger }) => trigger)
    for (const door of DOORS) {
      const { database } = await testDatabase(t, [door])
      const triggers = await database.query<{ table: string; trigger: string }>(TRIGGERS)
      assert.deepEqual(
        triggers.filter(({ table, trigger }) => core.includes(table) && !ownNames.includes(trigger)),
        [],
        door.owner,
      )
    }
  })

  test('nothing outside the ledger references jobs, and a door references no other door', async (t) => {
    const { database } = await testDatabase(t, DOORS)
    const keys = await database.query<{ from: string; to: string }>(FOREIGN_KEYS)

    assert.deepEqual(
      keys.filter(({ from, to }) => to === 'jobs' && !['jobs', 'attempts'].includes(from)),
      [],
    )
    for (const door of DOORS) await testDatabase(t, [door]) // its migration applies without the others
  })

  test('every check and unique constraint is named for what it guards', async (t) => {
    const { database } = await testDatabase(t, DOORS)

    assert.deepEqual(await database.query(AUTOMATIC_NAMES), [])
  })
})

async function tablesOf(t: Parameters<typeof testDatabase>[0], doors: typeof DOORS): Promise<string[]> {
  const { database } = await testDatabase(t, doors)
  const rows = await database.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  )
  return rows.map(({ name }) => name)
}

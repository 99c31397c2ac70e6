// What the desk adds to the ledger's transactions runs on the hot connections, whose plans are made once and kept.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { parseConfig } from '../../src/core/config.ts'
import type { Database } from '../../src/core/db/database.ts'
import { openHttp } from '../../src/core/http/server.ts'
import { insertAccount } from '../../src/core/identity/accounts.ts'
import { readSettings } from '../../src/core/settings.ts'
import { deskDoor } from '../../src/doors/desk/door.ts'
import { DESK_SETTINGS } from '../../src/doors/desk/settings.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { atEnd } from '../support/cleanup.ts'
import { testDatabase } from '../support/database.ts'
import { testEngine } from '../support/engine.ts'
import { recording, scansOf, type Statement } from '../support/plans.ts'
import { temporaryFolder } from '../support/servers.ts'
import { rows } from '../support/size.ts'
import { loginOf } from '../support/login.ts'

const TABLES = ['jobs', 'captcha_task', 'captcha_session', 'captcha_cookie', 'captcha_audit']
const ROWS_MAX = 20
const TASKS = '/api/v1/captcha/tasks'

const FILL = `
  insert into captcha_task (uuid, job_id, account_id, url, domain, priority, metadata, unclaimed_since)
  select id, id, 1, 'https://a.example/', 'a.example', 5, '{}', clock_timestamp()
    from (select gen_random_uuid() as id from generate_series(1, ${rows(20_000)})) as ids;
  insert into captcha_task (uuid, job_id, account_id, url, domain, priority, metadata, status, unclaimed_since, ended_at)
  select id, id, 1, 'https://a.example/', 'a.example', 5, '{}', 'solved', null, clock_timestamp()
    from (select gen_random_uuid() as id from generate_series(1, ${rows(100_000)})) as ids;
  insert into captcha_session (account_id, domain, variant, uuid, value, expires_at)
  select 1, 'd' || n, 'v', gen_random_uuid(), 'x', clock_timestamp() + interval '1 hour' from generate_series(1, ${rows(20_000)}) as n`

test('every hot statement of the desk finds its rows by index, with a plan made on empty tables and on full ones', async (t) => {
  const { database } = await testDatabase(t, migrationFolders().slice(1))
  const statements = await hotStatements(t, database)
  await database.query(`truncate ${TABLES.join(', ')} cascade`)

  const found = await scansOf(database, statements, { fill: FILL, tables: TABLES })

  assert.equal(statements.length, 8, statements.map(({ sql }) => sql).join('\n'))
  for (const { when, sql, node, rows } of found) {
    assert(!node.startsWith('Seq Scan'), `${when}: ${node} in ${sql}`)
    assert(rows <= ROWS_MAX, `${when}: ${node} touched ${rows} rows in ${sql}`)
  }
})

/** What the desk sends to the hot pool when a task is created, claimed, renewed, given back and solved. */
async function hotStatements(t: TestContext, real: Database): Promise<Statement[]> {
  const seen = new Map<string, Statement>()
  const database = recording(real, seen)
  const { core: config } = parseConfig({ REEVE_DATA_DIR: await temporaryFolder(t), LOG_LEVEL: 'silent' }, {})
  const { engine, deps } = await testEngine(t, { config, database })
  const opened = await deskDoor.open(deps, readSettings(DESK_SETTINGS, {}, []))
  atEnd(t, () => opened.close?.())
  const about = { database: '', feed: '', files: '' }
  const http = await openHttp({
    ...deps,
    feed: engine.feed,
    kinds: engine.kinds,
    doors: [{ door: deskDoor, opened }],
    about,
  })
  atEnd(t, () => http.close())

  const made = await insertAccount(real, { username: 'ann', passwordHash: 'none', roles: ['SCRAPER', 'OPERATOR'] })
  const token = await loginOf(real, made?.accountId ?? 0)
  const post = async (url: string, payload?: object) => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await http.app.inject({
      method: 'POST',
      url,
      headers,
      ...(payload === undefined ? {} : { payload }),
    })
    assert(answer.statusCode < 300, answer.body)
    return answer.json()
  }
  const { uuid } = await post(TASKS, { url: 'https://shop.example/' })
  await post(`${TASKS}/${uuid}/assign`, { operator_id: 'ann' })
  await post(`${TASKS}/${uuid}/assign`, { operator_id: 'ann' })
  await post(`${TASKS}/${uuid}/release`)
  await post(`${TASKS}/${uuid}/solve`, { type: 'cookie', payload: [{ name: 'a', value: '1' }] })
  await http.app.inject({
    method: 'GET',
    url: '/api/v1/captcha/sessions/shop.example',
    headers: { authorization: `Bearer ${token}` },
  })
  return [...seen.values()].filter(({ sql }) => sql.includes('captcha_'))
}

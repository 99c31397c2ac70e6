// AUDITS_KEPT_DAYS: one setting for the audit trails of accounts, desk and pool.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { parseConfig } from '../../src/core/config.ts'
import { openDatabase } from '../../src/core/db/database.ts'
import { auditRetention } from '../../src/core/retention.ts'
import { doorSettings, migrationFolders } from '../../src/doors/outline.ts'
import { atEnd } from '../support/cleanup.ts'
import { reusedDatabase } from '../support/database.ts'
import { startReeve } from '../support/reeve.ts'
import { until } from '../support/until.ts'

const OPEN = '00000000-0000-7000-8000-000000000001'
const ENDED = '00000000-0000-7000-8000-000000000002'

const DAYS_AGO = `clock_timestamp() - n * interval '1 day' as at from unnest(array[100, 50, 1]) as n`
const ARRANGE = [
  `insert into audit_events (account_id, event, created_at) select 1, 'signed_out', at from (select ${DAYS_AGO}) as r`,
  `insert into pool_audit (worker_id, action, created_at) select 1, 'ban', at from (select ${DAYS_AGO}) as r`,
  `insert into captcha_audit (action, actor, uuid, at)
   select 'claimed', 'ann', uuid, at from (select ${DAYS_AGO}) as r, unnest(array['${OPEN}', '${ENDED}']::uuid[]) as uuid`,
  `insert into captcha_task (uuid, job_id, account_id, url, domain, status, priority, metadata, unclaimed_since, ended_at)
   values ('${OPEN}', '${OPEN}', 1, '', '', 'pending', 5, '{}', clock_timestamp(), null),
          ('${ENDED}', '${ENDED}', 1, '', '', 'expired', 5, '{}', null, clock_timestamp())`,
]

const LEFT = `
  select (select count(*) from audit_events)::integer as accounts, (select count(*) from pool_audit)::integer as pool,
         (select count(*) from captcha_audit where uuid = '${OPEN}')::integer as of_open_task,
         (select count(*) from captcha_audit where uuid = '${ENDED}')::integer as of_ended_task`

async function setup(t: TestContext) {
  const at = await reusedDatabase(t, migrationFolders())
  const database = openDatabase(at, () => {})
  atEnd(t, () => database.close())
  for (const sql of ARRANGE) await database.query(sql)
  return { at, left: async () => (await database.query(LEFT))[0] }
}

test('AUDITS_KEPT_DAYS deletes old lines of all audit trails, but none of a desk task that is open', async (t) => {
  const { at, left } = await setup(t)

  await startReeve(t, { on: at, doors: 'desk,pool', env: { AUDITS_KEPT_DAYS: '60' } })

  const expected = { accounts: 2, pool: 2, of_open_task: 3, of_ended_task: 2 }
  await until('retention has run', async () => isDeepStrictEqual(await left(), expected), left)
})

test('by default audit trails are kept for ever', async () => {
  const { core: config } = parseConfig({}, doorSettings())
  const database = { query: () => assert.fail('it deletes') }

  assert.equal(await auditRetention({ config, database }, 'delete').runOnce(), false)
})

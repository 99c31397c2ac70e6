// `reeve migrate` as an operator types it before an upgrade.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../support/database.ts'
import { urlOf } from '../support/reeve.ts'
import { reeve } from './reeve-command.ts'

test('reeve migrate --plan says what is pending and changes nothing; migrate applies it', async () => {
  const env = { DATABASE_URL: urlOf(await freshDatabase([])) }

  const plan = await reeve(['migrate', '--plan'], { env })
  const same = await reeve(['migrate', '--plan', '--json'], { env })
  const applied = await reeve(['migrate', '--json'], { env })
  const rest = await reeve(['migrate', '--plan'], { env })

  assert.match(plan.stdout, /^core\/001_core\.sql\n {2}locks no table that exists\n/)
  const pending: { name: string }[] = JSON.parse(same.stdout).pending
  assert.deepEqual(
    pending.map(({ name }) => name),
    JSON.parse(applied.stdout).applied,
  )
  assert.equal(rest.stdout, 'Nothing to do: the database is up to date.\n')
  assert.deepEqual([plan.code, same.code, applied.code, rest.code], [0, 0, 0, 0])
})

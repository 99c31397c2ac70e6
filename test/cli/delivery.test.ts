// `reeve delivery`: dead letters are listed, shown with their attempts and sent again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startReeve } from '../support/reeve.ts'
import { reeve } from './reeve-command.ts'

const ADD_DEAD = `
  insert into outbox_events (topic, payload, status, attempts, last_error)
  values ('pool_callback', $1, 'dead', 6, 'connection_refused') returning outbox_id::integer as id`

test('reeve delivery lists dead letters, shows one, replays it, and names an unknown id or status', async (t) => {
  const { url, database, env } = await startReeve(t, { doors: 'pool', role: 'serve' })
  const letter = {
    subject: 'job 7',
    account_id: null,
    url: 'https://client.example/hook',
    request_id: 'r7',
    body: '{}',
    is_trusted: false,
  }
  const [row] = await database.query<{ id: number }>(ADD_DEAD, [JSON.stringify(letter)])
  const id = String(row?.id)
  const run = (...args: string[]) =>
    reeve(['delivery', ...args, '--url', url], { env: { ...env, LOG_LEVEL: 'silent' } })

  const [listed, table, shown] = [await run('list', '--json'), await run('list'), await run('show', id)]
  const replayed = await run('replay', id)
  const after = await run('list')
  const wrong = [await run('show', '999'), await run('list', '--status', 'lost')]

  const [first, ...others] = JSON.parse(listed.stdout)
  assert.deepEqual(
    [first.delivery_id, first.topic, first.subject, first.status, others],
    [Number(id), 'pool_callback', 'job 7', 'dead', []],
  )
  assert.match(table.stdout, /DELIVERY.*TOPIC[^]*pool_callback.*job 7.*connection_refused/)
  assert.deepEqual([JSON.parse(shown.stdout).attempts, JSON.parse(shown.stdout).log], [6, []])
  assert.deepEqual([replayed.code, replayed.stdout], [0, '1 replayed.\n'])
  assert.deepEqual([after.code, after.stdout, after.stderr.trim()], [0, '', 'No deliveries.'])
  assert.deepEqual(
    wrong.map(({ code }) => code),
    [1, 2],
  )
})

// `reeve job replay`: the door takes part in it, as it does when the server replays.
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { Client } from 'pg'
import { login, post, postSigned, solveBody, startReceiver, startServer, urlOf } from '../contract/challenge/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { reeve } from './reeve-command.ts'

test('a dead job is replayed together with its door’s effects, and solved', async (t) => {
  const receiver = await startReceiver(t)
  const { url, at } = await startServer(t, { role: 'serve' }) // nobody works yet
  const client = new Client(at)
  await client.connect()
  atEnd(t, () => client.end())
  const folder = await temporaryFolder()
  atEnd(t, () => rm(folder, { recursive: true, force: true }))
  const request = async () => (await client.query('select job_id, status, error_code from solve_requests')).rows[0]
  await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
  const { job_id: oldId } = await request()
  await post(`${url}/admin/jobs/${oldId}/cancel`, '{}', await login(url))
  const died = await request()
  await until('the first callback came', () => receiver.received.length === 1) // before there is a second one

  const env = { DATABASE_URL: urlOf(at), REEVE_DATA_DIR: folder }
  const [replayed, again, unknown] = [
    await reeve(['job', 'replay', oldId, '--json'], { env }),
    await reeve(['job', 'replay', oldId, '--json'], { env }),
    await reeve(['job', 'replay', '00000000-0000-7000-8000-000000000000'], { env }),
  ]
  const pending = await request()
  await startServer(t, { on: at })
  await until('both callbacks came', () => receiver.received.length === 2)

  assert.deepEqual([died.status, died.error_code], ['failed', 'SOLVER_FAILED'])
  const [{ replayed_as: newId }] = JSON.parse(replayed.stdout)
  assert.deepEqual([replayed.code, pending], [0, { job_id: newId, status: 'pending', error_code: null }])
  assert.equal(again.stdout, replayed.stdout)
  assert.deepEqual([unknown.code, unknown.stdout], [1, '00000000-0000-7000-8000-000000000000 → 404: Job not found\n'])
  const bodies = receiver.received.map(({ body }) => JSON.parse(body))
  assert.deepEqual(
    bodies.map(({ status, answer }) => [status, answer]),
    [
      ['failed', undefined],
      ['success', '395'],
    ],
  )
})

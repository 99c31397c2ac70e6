import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { WebSocket } from 'ws'
import { dispatchOnce } from '../../../src/core/outbox/dispatcher.ts'
import { openOutboxMetrics } from '../../../src/core/outbox/metrics.ts'
import { openMetrics } from '../../../src/core/metrics.ts'
import { startReeve, tokenOf } from '../../support/reeve.ts'
import { until } from '../../support/until.ts'
import { setup as setupServer } from './setup.ts'

const TOPIC = 'letters'
const REQUEST = {
  subject: 'job 7',
  accountId: null,
  url: 'https://127.0.0.1/hook',
  requestId: 'r7',
  body: '{}',
  isTrusted: false,
}

const DEAD_SEND = `
  insert into outbox_events (topic, payload, status, attempts, last_error)
  values ('challenge_send', '{"subject": "c1", "account_id": null, "url": "https://example.org/solve", "request_id": "r1", "body": "{}",
          "is_trusted": false}', 'dead', 6, 'HTTP 400')
  returning outbox_id`

/** A dead letter: the guard refuses its address for ever. */
async function setup(t: TestContext) {
  const server = await setupServer(t)
  const { engine, database, account, ask } = server
  const [delivery] = engine.deliveries.senders({ topic: TOPIC, keyOf: () => ({ keyId: 'k', secret: 's' }) })
  assert(delivery !== undefined)
  await database.transaction((tx) => engine.deliveries.addIn(tx, TOPIC, REQUEST))
  const metrics = openOutboxMetrics(openMetrics())
  const dispatch = () => dispatchOnce(database, delivery, metrics, new AbortController().signal)
  await dispatch()
  const admin = await account('ann', ['ADMIN'])
  const get = async (url: string) => ask({ url, token: admin.token })
  const post = async (url: string) => ask({ method: 'POST', url, token: admin.token })
  return { ...server, get, post, dispatch }
}

describe('deliveries of all doors, for admins', () => {
  test('GET /admin/deliveries: dead letters by default, by topic and status', async (t) => {
    const { get } = await setup(t)

    const [letter, ...others] = (await get('/admin/deliveries')).json().deliveries

    assert.deepEqual(others, [])
    const { delivery_id: id, created_at: at, ...shown } = letter
    assert.deepEqual([typeof id, Number.isNaN(Date.parse(at))], ['number', false])
    assert.deepEqual(shown, {
      topic: TOPIC,
      subject: 'job 7',
      url: 'https://127.0.0.1/hook',
      request_id: 'r7',
      status: 'dead',
      attempts: 1,
      last_error: 'forbidden_address',
    })
    assert.deepEqual((await get('/admin/deliveries?topic=others')).json().deliveries, [])
    assert.deepEqual((await get('/admin/deliveries?status=pending')).json().deliveries, [])
    assert.deepEqual((await get(`/admin/deliveries?before=${id}`)).json().deliveries, [])
  })

  test('GET /admin/deliveries/{id}: one with its attempts', async (t) => {
    const { get } = await setup(t)
    const [letter] = (await get('/admin/deliveries')).json().deliveries

    const story = (await get(`/admin/deliveries/${letter.delivery_id}`)).json()
    const none = await get('/admin/deliveries/999999')

    const [attempt, ...others] = story.log
    assert.deepEqual(others, [])
    assert.deepEqual([story.body, story.is_body_cut], ['{}', false])
    assert.deepEqual(
      [attempt.attempt, attempt.status_code, attempt.error, attempt.cause, attempt.peer_code],
      [1, null, 'forbidden_address', null, null],
    )
    assert.equal(none.statusCode, 404)
  })

  test('POST /admin/deliveries/{id}/replay: a dead letter is sent again, and only a dead one', async (t) => {
    const { get, post, dispatch } = await setup(t)
    const [letter] = (await get('/admin/deliveries')).json().deliveries
    const path = `/admin/deliveries/${letter.delivery_id}`

    const replayed = await post(`${path}/replay`)
    const again = await post(`${path}/replay`)
    const waiting = (await get(path)).json()
    await dispatch()
    const dead = (await get(path)).json()

    assert.deepEqual([replayed.statusCode, replayed.json()], [200, { replayed: [letter.delivery_id] }])
    assert.equal(again.statusCode, 404)
    assert.deepEqual([waiting.status, waiting.attempts, waiting.last_error], ['pending', 0, null])
    assert.deepEqual([dead.status, dead.attempts, dead.log.length], ['dead', 1, 2])
  })

  test('GET /admin/deliveries/{id}: only the beginning of a long body is shown', async (t) => {
    const { get, engine, database } = await setup(t)
    const body = JSON.stringify('x'.repeat(150_000))
    await database.transaction((tx) => engine.deliveries.addIn(tx, TOPIC, { ...REQUEST, body }))
    const [waiting] = (await get('/admin/deliveries?status=pending')).json().deliveries

    const story = (await get(`/admin/deliveries/${waiting.delivery_id}`)).json()

    assert.deepEqual([story.body, story.is_body_cut], [body.slice(0, 100_000), true])
  })

  test('POST /admin/deliveries/replay: all dead letters, of a topic, or those since a time', async (t) => {
    const { get, ask, dispatch, engine, database, account } = await setup(t)
    await database.query(`update outbox_events set created_at = '2026-01-01T00:00:00Z' where topic = $1`, [TOPIC])
    await database.transaction((tx) => engine.deliveries.addIn(tx, TOPIC, { ...REQUEST, subject: 'job 8' }))
    await dispatch()
    const [newer, older] = (await get('/admin/deliveries')).json().deliveries
    const { token } = await account('eve', ['ADMIN'])
    const replay = async (payload: object) => {
      const answer = await ask({ method: 'POST', url: '/admin/deliveries/replay', token, payload })
      return [answer.statusCode, answer.json().replayed]
    }

    assert.deepEqual(await replay({ since: 'yesterday' }), [422, undefined])
    assert.deepEqual(await replay({ before: '2026-01-01T00:00:00Z' }), [422, undefined])
    assert.deepEqual(await replay({ topic: 'others' }), [200, []])
    assert.deepEqual(await replay({ since: '2026-01-01T00:00:00.001Z' }), [200, [newer.delivery_id]])
    assert.deepEqual(await replay({ since: '2026-01-01T00:00:00Z' }), [200, [older.delivery_id]])
    assert.deepEqual(await replay({}), [200, []])
  })

  test('the topic deliveries of /live sends changes of the given deliveries, and the newest dead letter', async (t) => {
    const reeve = await startReeve(t, { doors: 'challenge', env: { SOLVER_HMAC_SECRET: 'secret' } })
    const { token } = await tokenOf(reeve.url, 'admin')
    const client = new ReeveClient({ url: reeve.url, token })
    const live = client.live({ WebSocket })
    t.after(() => live.close())
    const seen: [string, unknown][] = []
    const follow = (ids: readonly number[]) =>
      live.follow({
        topic: 'deliveries',
        params: { delivery_ids: ids },
        onMessage: ({ type, payload }) => seen.push([type, payload]),
      })
    follow([])
    await until('nothing is dead', () => seen.some(([type]) => type === 'newest_dead'))

    const [row] = await reeve.database.query<{ outbox_id: string }>(DEAD_SEND)
    const id = Number(row?.outbox_id)
    follow([id])
    await until('it is seen', () => seen.some(([type]) => type === 'changed'))
    await until('it is told', () => seen.filter(([type]) => type === 'newest_dead').length > 1)
    await reeve.database.query(`update outbox_events set attempts = 7 where outbox_id = $1`, [id])
    await until('it has changed', () => seen.filter(([type]) => type === 'changed').length > 1)

    const dead = { delivery_id: id, status: 'dead', last_error: 'HTTP 400' }
    const changes = seen.flatMap(([type, payload]) => (type === 'changed' ? [payload] : []))
    assert.deepEqual(changes, [{ deliveries: [{ ...dead, attempts: 6 }] }, { deliveries: [{ ...dead, attempts: 7 }] }])
    const newest = seen.flatMap(([type, payload]) => (type === 'newest_dead' ? [payload] : []))
    assert.deepEqual(newest.slice(0, 2), [{ delivery_id: null }, { delivery_id: id }])
  })

  test('only admins see deliveries', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('bob', ['CLIENT'])

    assert.equal((await ask({ url: '/admin/deliveries' })).statusCode, 401)
    assert.equal((await ask({ url: '/admin/deliveries', token })).statusCode, 403)
    assert.equal((await ask({ method: 'POST', url: '/admin/deliveries/1/replay', token })).statusCode, 403)
    assert.equal((await ask({ method: 'POST', url: '/admin/deliveries/replay', token })).statusCode, 403)
  })
})

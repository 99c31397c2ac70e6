import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { dispatchOnce } from '../../../src/core/outbox/dispatcher.ts'
import { openOutboxMetrics } from '../../../src/core/outbox/metrics.ts'
import { openMetrics } from '../../../src/core/metrics.ts'
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

/** A dead letter: the guard refuses its address for ever. */
async function setup(t: TestContext) {
  const server = await setupServer(t)
  const { engine, database, account, ask } = server
  const [delivery] = engine.deliveries.senders({ topic: TOPIC, keyOf: () => ({ keyId: 'k', secret: 's' }) })
  assert(delivery !== undefined)
  await database.transaction((tx) => engine.deliveries.addIn(tx, TOPIC, REQUEST))
  const metrics = openOutboxMetrics(openMetrics(), database)
  const dispatch = () => dispatchOnce(database, delivery, metrics, AbortSignal.timeout(5000))
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

  test('others than admins see nothing', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('bob', ['CLIENT'])

    assert.equal((await ask({ url: '/admin/deliveries' })).statusCode, 401)
    assert.equal((await ask({ url: '/admin/deliveries', token })).statusCode, 403)
    assert.equal((await ask({ method: 'POST', url: '/admin/deliveries/1/replay', token })).statusCode, 403)
  })
})

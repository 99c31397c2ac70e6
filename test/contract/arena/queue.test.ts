import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ask, connect, join, LONG, matched, player, QUICK, startServer } from './setup.ts'

describe('arena: the queue', () => {
  test('arena 3.1: join queues until the default timeout or the requested one', async (t) => {
    const { url } = await startServer(t, { env: { MATCH_QUEUE_TIMEOUT_SECONDS: '40' } })
    const ann = await player(url, 'ann')
    const bob = await player(url, 'bob')

    const timed = async (who: typeof ann, body: object) => {
      const before = Date.now()
      const answer = await join(url, who, body)
      const answeredAt = Date.now()
      /** The wait ends so many seconds after a moment of the request. */
      const isIn = (seconds: number) => {
        const joinedAt = Date.parse(answer.body.data.expiresAt) - seconds * 1000
        assert(before - 1 <= joinedAt && joinedAt <= answeredAt + 1, `${seconds} s: ${answer.body.data.expiresAt}`)
      }
      return { ...answer, isIn }
    }

    const byDefault = await timed(ann, { mode: 'normal' })
    await ask(url, '/api/queue/cancel', { method: 'POST', token: ann.token })
    const asked = await timed(bob, { mode: 'rated', timeoutSeconds: 5 })

    assert.equal(byDefault.status, 200)
    assert.deepEqual(Object.keys(byDefault.body.data), ['queued', 'mode', 'expiresAt'])
    assert.deepEqual([byDefault.body.data.queued, byDefault.body.data.mode], [true, 'normal'])
    byDefault.isIn(40)
    assert.equal(asked.body.data.mode, 'rated')
    asked.isIn(5)
  })

  test('arena 3.2: unauthorized comes before bad_request; a bad mode or timeout changes nothing', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')

    const stranger = await ask(url, '/api/queue/join', { body: '{', token: 'f'.repeat(64) })
    const bodies = [
      '',
      '{',
      '[]',
      {},
      { mode: 'ranked' },
      { mode: 1 },
      { mode: 'normal', timeoutSeconds: 0 },
      { mode: 'normal', timeoutSeconds: -1 },
      { mode: 'normal', timeoutSeconds: 1.5 },
      { mode: 'normal', timeoutSeconds: '5' },
      { mode: 'normal', timeoutSeconds: 1e9 },
    ]

    assert.deepEqual([stranger.status, stranger.body.error.code], [401, 'unauthorized'])
    for (const body of bodies) {
      const answer = await join(url, ann, body)
      assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'], JSON.stringify(body))
    }
    const cancel = await ask(url, '/api/queue/cancel', { method: 'POST', token: ann.token })
    assert.equal(cancel.status, 404)
  })

  test('arena 3.3: cancel succeeds once, then answers 404 queue_not_found', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')
    const headers = { 'content-type': 'application/json' } // as many clients say, although there is no body
    const cancel = () => ask(url, '/api/queue/cancel', { method: 'POST', token: ann.token, headers })
    await join(url, ann)

    const first = await cancel()
    const second = await cancel()

    assert.deepEqual([first.status, first.body.data], [200, { canceled: true }])
    assert.deepEqual([second.status, second.body.error.code], [404, 'queue_not_found'])
    assert.equal((await join(url, ann)).status, 200)
  })

  test('arena 3.4: join is 409 queue_duplicate while in the queue and while in a session', async (t) => {
    const { url } = await startServer(t, { env: LONG })
    const { ann } = await matched(t, url)
    const carl = await player(url, 'carl')
    await join(url, carl)

    const queued = await join(url, carl)
    const playing = await join(url, ann)

    assert.deepEqual([queued.status, queued.body.error.code], [409, 'queue_duplicate'])
    assert.deepEqual([playing.status, playing.body.error.code], [409, 'queue_duplicate'])
  })

  test('arena 3.5: players are paired first come, first served', async (t) => {
    const { url } = await startServer(t)
    const players = []
    for (const name of ['a', 'b', 'c', 'd']) players.push(await player(url, name))
    const lines = []
    for (const one of players) lines.push(await connect(t, url, one))

    for (const one of players) await join(url, one)
    const pairs = []
    for (const line of lines)
      pairs.push((await line.event('session.created')).p.participants.map((p: { username: string }) => p.username))

    assert.deepEqual(pairs, [['a', 'b'], ['a', 'b'], ['c', 'd'], ['c', 'd']]) // prettier-ignore
  })

  test('arena 3.6: mode rated pairs by rating; players far apart are paired when they have waited', async (t) => {
    const { url, at } = await startServer(t)
    const { Client } = await import('pg')
    const client = new Client(at)
    await client.connect()
    t.after(() => client.end())
    const [low, high, mid] = [await player(url, 'low'), await player(url, 'high'), await player(url, 'mid')]
    await client.query('insert into players (user_id, rating) values ($1, 1000), ($2, 1580)', [low.userId, high.userId])
    const lines = [await connect(t, url, low), await connect(t, url, high), await connect(t, url, mid)]

    for (const one of [low, high, mid]) await join(url, one, { mode: 'rated', timeoutSeconds: 60 })
    const near = await lines[1]?.event('session.created')
    // Those who wait widen their window: 580 points are too far apart for eleven seconds.
    await client.query(`update seats set joined_at = joined_at - interval '10 seconds' where user_id = $1`, [
      low.userId,
    ])
    const far = await player(url, 'far')
    await join(url, far, { mode: 'rated', timeoutSeconds: 60 })
    const last = await lines[0]?.event('session.created')

    const names = (message: typeof near) => message?.p.participants.map((p: { username: string }) => p.username).sort()
    assert.deepEqual(names(near), ['high', 'mid'])
    assert.deepEqual(names(last), ['far', 'low'])
  })

  test('arena 3.7: a join repeated with its Idempotency-Key gets the first answer, also after the match; another body is 422', async (t) => {
    const { url } = await startServer(t, { env: QUICK })
    const ann = await player(url, 'ann')
    const bob = await player(url, 'bob')
    const annLine = await connect(t, url, ann)
    const headers = { 'idempotency-key': 'k1' }
    const keyed = (body: object) => ask(url, '/api/queue/join', { token: ann.token, body, headers })

    const first = await keyed({ mode: 'normal', timeoutSeconds: 60 })
    const again = await Promise.all([1, 2, 3].map(() => keyed({ timeoutSeconds: 60, mode: 'normal' })))
    const other = await keyed({ mode: 'normal', timeoutSeconds: 61 })
    await join(url, bob)
    await annLine.event('session.ended')
    const later = await keyed({ mode: 'normal', timeoutSeconds: 60 })

    assert.equal(first.status, 200)
    for (const answer of [...again, later]) assert.deepEqual([answer.status, answer.body.data], [200, first.body.data])
    assert.equal(other.status, 422)
    assert.equal((await ask(url, '/metrics')).body.data.queue.length, 0)
  })

  test('arena 3.8: the queue survives a restart', async (t) => {
    const first = await startServer(t)
    const ann = await player(first.url, 'ann')
    const bob = await player(first.url, 'bob')
    await join(first.url, ann, { mode: 'normal', timeoutSeconds: 600 })
    await first.stop()

    const second = await startServer(t, { on: first.at })
    const line = await connect(t, second.url, ann)
    await join(second.url, bob)

    assert.deepEqual(
      (await line.event('session.created')).p.participants.map((p: { username: string }) => p.username),
      ['ann', 'bob'],
    )
  })
})

describe('arena: what is watched', () => {
  test('arena 12.1: GET /metrics counts requests, errors, sockets, sessions and queue without a token', async (t) => {
    const { url } = await startServer(t, { env: LONG })
    const { sessionId } = await matched(t, url)
    const carl = await player(url, 'carl')
    await join(url, carl)
    for (let n = 0; n < 5; n += 1) await ask(url, '/api/leaderboard')
    await ask(url, '/api/nowhere')

    const { status, body } = await ask(url, '/metrics')

    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body.data), ['requests', 'connections', 'sessions', 'queue'])
    assert.deepEqual(Object.keys(body.data.requests), ['total', 'errors'])
    assert(body.data.requests.total >= 9 && body.data.requests.errors >= 1)
    assert.deepEqual(body.data.connections, { websocket: 2 })
    assert.deepEqual(body.data.sessions, { active: 1 }, sessionId)
    assert.deepEqual(body.data.queue, { length: 1 })
  })

  test('arena 12.2: GET /ops/status needs X-Ops-Token; a missing, wrong or unset one is 401', async (t) => {
    const open = await startServer(t, { env: { OPS_TOKEN: 'ops secret', ...LONG } })
    const closed = await startServer(t)
    await matched(t, open.url)
    const status = (url: string, headers: Record<string, string>) => ask(url, '/ops/status', { headers })

    const good = await status(open.url, { 'x-ops-token': 'ops secret' })
    const refused = [
      await status(open.url, {}),
      await status(open.url, { 'x-ops-token': 'ops secre' }),
      await status(open.url, { authorization: 'Bearer ops secret' }),
      await status(closed.url, { 'x-ops-token': '' }),
      await status(closed.url, {}),
    ]

    assert.equal(good.status, 200)
    assert.deepEqual(Object.keys(good.body.data), ['activeSessions', 'queueLength', 'activeWebsocket', 'errorCount'])
    assert.deepEqual(
      [good.body.data.activeSessions, good.body.data.queueLength, good.body.data.activeWebsocket],
      [1, 0, 2],
    )
    assert(Number.isInteger(good.body.data.errorCount))
    for (const { status, body } of refused) assert.deepEqual([status, body.error.code], [401, 'unauthorized'])
  })

  test('arena 12.3: neither tokens nor passwords appear in metrics or ops', async (t) => {
    const { url } = await startServer(t, { env: { OPS_TOKEN: 'ops secret', ...LONG } })
    const { ann } = await matched(t, url)
    const texts = [
      JSON.stringify((await ask(url, '/metrics')).body),
      await (await fetch(`${url}/metrics`, { headers: { accept: 'text/plain' } })).text(),
      JSON.stringify((await ask(url, '/ops/status', { headers: { 'x-ops-token': 'ops secret' } })).body),
    ]

    assert(texts[1]?.includes('arena_sessions 1'))
    for (const text of texts) {
      assert(!text.includes(ann.token))
      const values = text.replaceAll('table="password_links"', '') // the name of a table is no secret
      assert(!values.includes('password') && !values.includes('ops secret'))
    }
  })
})

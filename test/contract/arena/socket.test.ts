import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { until } from '../../support/until.ts'
import { rawClient } from './raw-client.ts'
import { ask, connect, matched, player, startServer, type Line } from './setup.ts'

const HEX = /^[0-9a-f]{64}$/
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** What a refused upgrade is answered. */
async function refusal(url: string, headers: Record<string, string>, protocols: string[] = []) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, protocols, { headers })
  socket.on('error', () => {})
  const opened = once(socket, 'open').then(() => null)
  const answered = once(socket, 'unexpected-response').then(async ([, response]) => {
    let body = ''
    for await (const chunk of response) body += String(chunk)
    return { status: Number(response.statusCode), body: JSON.parse(body), type: response.headers['content-type'] }
  })
  const answer = await Promise.race([opened, answered])
  socket.terminate()
  return answer
}

describe('arena: /ws', () => {
  test('arena 4.1: an upgrade without a valid token is refused with HTTP 401 and the envelope', async (t) => {
    const { url } = await startServer(t)
    const { token } = await player(url, 'ann')

    const answers = [
      await refusal(url, {}),
      await refusal(url, { authorization: 'Bearer nonsense' }),
      await refusal(url, { authorization: `Bearer ${'f'.repeat(64)}` }),
      await refusal(url, { authorization: `Basic ${token}` }),
      await refusal(url, {}, ['reeve.bearer', 'f'.repeat(64)]),
    ]

    for (const answer of answers) {
      assert.equal(answer?.status, 401)
      assert.equal(answer.type, 'application/json; charset=utf-8')
      assert.deepEqual([answer.body.success, answer.body.error.code], [false, 'unauthorized'])
    }
    assert.equal(await refusal(url, { authorization: `Bearer ${token}` }), null)
    assert.equal(await refusal(url, {}, ['reeve.bearer', token]), null)
    assert.equal(
      (await refusal(url, { authorization: `Bearer ${token}`, origin: 'https://evil.example' }))?.status,
      403,
    )
    assert.equal((await ask(url, '/ws', { token })).status, 426)
  })

  test('arena 4.2: auth_state is the first message, field by field', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')

    const line = await connect(t, url, ann)
    line.send('echo', { message: 'early' }, 1)
    await line.event('echo')

    const [first] = line.messages
    assert.equal(first?.event, 'auth_state')
    const { resumeToken, ...rest } = first?.p ?? {}
    assert.deepEqual(
      { ...first, p: rest },
      { t: 'event', seq: 0, event: 'auth_state', p: { userId: ann.userId, username: 'ann', snapshotVersion: 1 } },
    )
    assert.match(resumeToken, HEX)
  })

  test('arena 4.3: echo returns the message, the user and the seq; a missing seq is 0', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')
    const line = await connect(t, url, ann)
    const text = '텍스트 \u{1f600} "quoted" \n'

    line.send('echo', { message: text }, 42)
    line.send('echo', { message: 'x'.repeat(60_000) })
    const first = await line.event('echo')
    const second = await line.event('echo')

    assert.deepEqual(first, { t: 'event', seq: 42, event: 'echo', p: { message: text, userId: ann.userId } })
    assert.deepEqual([second.seq, second.p.message.length], [0, 60_000])
  })

  test('arena 4.4: an error message has t error, event null, code, Korean message and the seq of its cause', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')
    const line = await connect(t, url, ann)
    const english = await connect(t, url, ann, { 'accept-language': 'en' })
    const say = (text: string) => (line.socket.send(text), line.error())

    const answers = [
      await say('{"t":"event","seq":7,"event":"echo","p":{}}'),
      await say('{"t":"event","seq":7,"event":"echo","p":{"message":1}}'),
      await say('{"t":"event","seq":7,"event":"echo","p":[]}'),
      await say('{"t":"event","seq":7,"event":"no.such","p":{}}'),
      await say('{"t":"event","seq":7,"event":"__proto__","p":{}}'),
      await say('{"t":"event","seq":7,"event":7}'),
      await say('{"t":"error","seq":7,"event":"echo"}'),
      await say('{"seq":7}'),
    ]
    const nameless = [
      await say('{'),
      await say('[]'),
      await say('null'),
      await say('"x"'),
      await say(''),
      await say('{"t":"event","seq":"7","event":"echo"}'),
    ]
    english.socket.send('{')

    for (const answer of answers) {
      assert.deepEqual(Object.keys(answer), ['t', 'seq', 'event', 'p'])
      assert.deepEqual([answer.t, answer.seq, answer.event, answer.p.code], ['error', 7, null, 'bad_request'])
      assert.match(answer.p.message, /[가-힣]/)
    }
    for (const answer of nameless) assert.deepEqual([answer.seq, answer.p.code], [0, 'bad_request'])
    assert.equal((await english.error()).p.message, 'The message is not valid JSON.')
    line.send('echo', { message: 'still here' }, 1)
    await line.event('echo')
  })
})

describe('arena: resync', () => {
  test('arena 6.1: resync_request answers auth_only with a new token and a rising version', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')
    const line = await connect(t, url, ann)
    const { resumeToken } = (await line.event('auth_state')).p

    line.send('resync_request', { resumeToken }, 9)
    const first = await line.event('resync_state')
    line.send('resync_request', { resumeToken: first.p.resumeToken }, 10)
    const second = await line.event('resync_state')

    assert.deepEqual([first.t, first.seq], ['event', 9])
    assert.deepEqual(Object.keys(first.p), ['resumeToken', 'snapshot'])
    const { issuedAt, ...snapshot } = first.p.snapshot
    assert.deepEqual(snapshot, { version: 2, state: 'auth_only', user: { userId: ann.userId, username: 'ann' } })
    assert.match(issuedAt, ISO)
    assert.match(first.p.resumeToken, HEX)
    assert.notEqual(first.p.resumeToken, resumeToken)
    assert.equal(second.p.snapshot.version, 3)
  })

  test('arena 6.2: a used, guessed, foreign or malformed token is invalid_resume_token', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')
    const eve = await player(url, 'eve')
    const annLine = await connect(t, url, ann)
    const eveLine = await connect(t, url, eve)
    const { resumeToken } = (await annLine.event('auth_state')).p
    const attempt = async (line: Line, token: unknown) => {
      line.send('resync_request', { resumeToken: token }, 3)
      return line.next(({ t, event }) => t === 'error' || event === 'resync_state')
    }

    const stolen = await attempt(eveLine, resumeToken)
    const good = await attempt(annLine, resumeToken)
    const refused = [stolen, await attempt(annLine, resumeToken), await attempt(annLine, 'f'.repeat(64))]
    for (const token of ['', 1, null, {}, resumeToken.toUpperCase(), `${resumeToken} `])
      refused.push(await attempt(annLine, token))

    assert.equal(good.event, 'resync_state', 'somebody else’s attempt had burnt the token')
    for (const answer of refused) {
      assert.deepEqual([answer.t, answer.seq, answer.event, answer.p.code], ['error', 3, null, 'invalid_resume_token'])
    }
  })

  test('arena 6.3: a player who reconnects gets in_session with the running match, and its states go on', async (t) => {
    // So slow that inputs arrive before their ticks: after a pause a match catches up on a second of ticks at once.
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '250', SESSION_TICKS: '36' } })
    const { ann, bob, annLine, bobLine, sessionId } = await matched(t, url)
    const { resumeToken } = (await annLine.event('auth_state')).p
    annLine.send('session.input', { sessionId, sequence: 5, targetTick: 8, delta: 2 })
    await annLine.next(({ event, p }) => event === 'session.state' && p.tick >= 9)
    annLine.socket.terminate()
    await bobLine.event('session.state')

    const back = await connect(t, url, ann)
    await back.event('auth_state')
    back.send('resync_request', { resumeToken }, 1)
    const { snapshot } = (await back.event('resync_state')).p
    const state = await back.event('session.state')
    back.send('session.input', { sessionId, sequence: 6, targetTick: state.p.tick + 8, delta: 3 })
    const ended = await back.event('session.ended')

    assert.equal(snapshot.state, 'in_session')
    assert.deepEqual(Object.keys(snapshot.session), [
      'sessionId',
      'createdAt',
      'participants',
      'tickIntervalMs',
      'ticks',
      'tick',
      'players',
    ])
    assert.equal(snapshot.session.sessionId, sessionId)
    assert.deepEqual(snapshot.session.participants, [
      { userId: ann.userId, username: 'ann' },
      { userId: bob.userId, username: 'bob' },
    ])
    assert.deepEqual(snapshot.session.players[0], { userId: ann.userId, position: 2, lastSequence: 5 })
    assert.equal(ended.p.result.winnerUserId, ann.userId)
    const match = await ask(url, `/api/matches/${sessionId}`, { token: ann.token })
    assert.equal(match.body.data.players[0].position, 5)
  })

  test('arena 6.4: a resume token survives a restart of the server', async (t) => {
    const first = await startServer(t)
    const ann = await player(first.url, 'ann')
    const { resumeToken } = (await (await connect(t, first.url, ann)).event('auth_state')).p
    await first.stop()

    const second = await startServer(t, { on: first.at })
    const line = await connect(t, second.url, ann)
    line.send('resync_request', { resumeToken })

    assert.equal((await line.event('resync_state')).p.snapshot.state, 'auth_only')
  })

  test('arena 6.5: the snapshot of a queued player says so', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')
    const joined = await ask(url, '/api/queue/join', { token: ann.token, body: { mode: 'rated', timeoutSeconds: 60 } })
    const line = await connect(t, url, ann)

    line.send('resync_request', { resumeToken: (await line.event('auth_state')).p.resumeToken })
    const { snapshot } = (await line.event('resync_state')).p

    assert.equal(snapshot.state, 'auth_only')
    assert.deepEqual(snapshot.queue, { mode: 'rated', expiresAt: joined.body.data.expiresAt })
  })

  test('arena 4.5: the ninth socket of a player closes the first', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')
    const lines: Line[] = []
    for (let n = 0; n < 9; n += 1) {
      const line = await connect(t, url, ann)
      await line.event('auth_state')
      lines.push(line)
    }

    assert.deepEqual(await lines[0]?.closed, { code: 1008, reason: 'too_many_connections' })
    lines[1]?.send('echo', { message: 'here' })
    await lines[1]?.event('echo')
  })

  test('arena 4.5: of twenty sockets that connect at once and do not answer a close, eight remain', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')

    const clients = await Promise.all(Array.from({ length: 20 }, () => rawClient(t, url, ann.token)))
    const ends: { reason: string }[] = []
    for (const { closed } of clients) void closed.then((end) => ends.push(end))
    await until('twelve are cut off', () => ends.length >= 12)

    assert.deepEqual(
      ends.map(({ reason }) => reason),
      Array.from({ length: 12 }, () => 'too_many_connections'),
    )
    assert.equal((await ask(url, '/metrics')).body.data.connections.websocket, 8)
  })
})

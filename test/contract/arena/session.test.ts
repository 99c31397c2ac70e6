import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { replayBytes, replayInputs, unpackInputs } from '@reeve/sdk/arena-replay'
import { ReeveClient, type LiveMessage } from '@reeve/sdk'
import { WebSocket } from 'ws'
import { until } from '../../support/until.ts'
import { ask, connect, join, LONG, matched, player, QUICK, startServer, type Line, type Player } from './setup.ts'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const input = (line: Line, p: object, seq?: number) => line.send('session.input', p, seq)

// At once: what they wait for is ticks, in real time.
describe('arena: a session', { concurrency: 3 }, () => {
  test('arena 5.1: both players get created, started, states and ended, in that order, field by field', async (t) => {
    const { url } = await startServer(t, { env: QUICK })
    const { ann, bob, annLine, bobLine, created, started, sessionId } = await matched(t, url)
    const state = await annLine.event('session.state')
    const ended = await annLine.event('session.ended')
    await bobLine.event('session.ended')

    assert.match(sessionId, UUID)
    assert.match(created.p.createdAt, ISO)
    assert.deepEqual(created, {
      t: 'event',
      seq: 0,
      event: 'session.created',
      p: {
        sessionId,
        createdAt: created.p.createdAt,
        participants: [
          { userId: ann.userId, username: 'ann' },
          { userId: bob.userId, username: 'bob' },
        ],
      },
    })
    const atRest = [ann, bob].map(({ userId }) => ({ userId, position: 0, lastSequence: 0 }))
    assert.deepEqual(started, {
      t: 'event',
      seq: 0,
      event: 'session.started',
      p: { sessionId, tick: 0, tickIntervalMs: 20, state: { players: atRest, tick: 0 } },
    })
    assert.match(state.p.issuedAt, ISO)
    assert.deepEqual(state, {
      t: 'event',
      seq: 0,
      event: 'session.state',
      p: { sessionId, tick: 1, players: atRest, issuedAt: state.p.issuedAt },
    })
    assert.deepEqual(ended, {
      t: 'event',
      seq: 0,
      event: 'session.ended',
      p: { sessionId, reason: 'completed', result: { winnerUserId: null, ticks: 10 } },
    })
    const names = bobLine.messages.map(({ event }) => event)
    assert.deepEqual(names.slice(0, 3), ['auth_state', 'session.created', 'session.started'])
    const ticks = bobLine.messages.filter(({ event }) => event === 'session.state').map(({ p }) => p.tick)
    assert.deepEqual(
      ticks,
      Array.from({ length: 10 }, (_, index) => index + 1),
    )
  })

  test('arena 5.2: a delta counts at its tick; the higher position wins', async (t) => {
    // So slow that an input for the fifth tick arrives before it: after a pause a match catches up on a second of ticks at once.
    const { url } = await startServer(t, { env: { SESSION_TICKS: '10', SESSION_TICK_INTERVAL_MS: '400' } })
    const { ann, bob, annLine, bobLine, sessionId } = await matched(t, url)

    input(annLine, { sessionId, sequence: 1, targetTick: 5, delta: -3 })
    input(bobLine, { sessionId, sequence: 10, targetTick: 7, delta: 3 })
    input(bobLine, { sessionId, sequence: 11, targetTick: 7, delta: 2 })
    const at = async (tick: number) =>
      (await annLine.next(({ event, p }) => event === 'session.state' && p.tick === tick)).p.players
    const fifth = await at(5)
    const sixth = await at(6)
    const eighth = await at(8)
    const ended = await annLine.event('session.ended')

    assert.deepEqual([fifth[0].position, fifth[0].lastSequence], [0, 1])
    assert.deepEqual([sixth[0].position, sixth[1].position], [-3, 0])
    assert.deepEqual([eighth[0].position, eighth[1].position, eighth[1].lastSequence], [-3, 5, 11])
    assert.deepEqual(ended.p.result, { winnerUserId: bob.userId, ticks: 10 })
    assert.notEqual(ended.p.result.winnerUserId, ann.userId)
  })

  test('arena 5.3: an invalid delta, tick or sequence is input_invalid and changes nothing', async (t) => {
    const { url } = await startServer(t, { env: { ...LONG, SESSION_TICK_INTERVAL_MS: '4000' } })
    const { annLine, sessionId } = await matched(t, url)
    const good = { sessionId, sequence: 3, targetTick: 1, delta: 1 }
    const refused = async (p: object) => {
      input(annLine, p, 5)
      return annLine.error()
    }

    input(annLine, good)
    const bad = [
      { ...good, sequence: 4, delta: 4 },
      { ...good, sequence: 4, delta: -4 },
      { ...good, sequence: 4, delta: 0.5 },
      { ...good, sequence: 4, delta: '1' },
      { ...good, sequence: 4, delta: null },
      { ...good, sequence: 3 },
      { ...good, sequence: 2 },
      { ...good, sequence: -1 },
      { ...good, sequence: 4.5 },
      { ...good, sequence: 4_294_967_296 },
      { ...good, sequence: 4, targetTick: -1 },
      { ...good, sequence: 4, targetTick: 30 },
      { ...good, sequence: 4, targetTick: 1e300 },
      { ...good, sequence: 4, targetTick: '1' },
      { sessionId },
      { ...good, sessionId: 7, sequence: 4 },
    ]

    for (const p of bad) {
      const { seq, p: error } = await refused(p)
      assert.deepEqual([seq, error.code], [5, 'input_invalid'], JSON.stringify(p))
    }
    for (let n = 4; n <= 10; n += 1) input(annLine, { ...good, sequence: n })
    assert.equal((await refused({ ...good, sequence: 11 })).p.code, 'input_invalid', 'a ninth input for one tick')
    const state = await annLine.next(({ event, p }) => event === 'session.state' && p.tick === 2)
    assert.deepEqual([state.p.players[0].position, state.p.players[0].lastSequence], [8, 10])
  })

  test('arena 5.4: an unknown session is session_not_found, another player’s is not_participant', async (t) => {
    const { url } = await startServer(t, { env: LONG })
    const { sessionId } = await matched(t, url)
    const eve = await player(url, 'eve')
    const line = await connect(t, url, eve)
    const refused = async (id: unknown) => {
      input(line, { sessionId: id, sequence: 1, targetTick: 1, delta: 1 }, 2)
      const { seq, p } = await line.error()
      return [seq, p.code]
    }

    assert.deepEqual(await refused('00000000-0000-7000-8000-000000000000'), [2, 'session_not_found'])
    assert.deepEqual(await refused('not a session'), [2, 'session_not_found'])
    assert.deepEqual(await refused(sessionId), [2, 'not_participant'])
    input(line, { sessionId, delta: 99 }, 3)
    assert.equal((await line.error()).p.code, 'not_participant')
  })

  test('arena 7.1: GET /api/matches/{id} returns the inputs, and a replay gives the same result', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICKS: '30', SESSION_TICK_INTERVAL_MS: '100' } })
    const { ann, bob, annLine, bobLine, sessionId } = await matched(t, url)
    let sequence = 0
    for (const [line, sign] of [
      [annLine, 1],
      [bobLine, -1],
    ] as const) {
      line.socket.on('message', (data) => {
        const { event, p } = JSON.parse(String(data))
        if (event !== 'session.state') return
        sequence += 1
        input(line, { sessionId, sequence, targetTick: p.tick + (sequence % 11), delta: sign * (sequence % 4) })
      })
    }
    const ended = await annLine.event('session.ended')

    const { status, body } = await ask(url, `/api/matches/${sessionId}`, { token: bob.token })
    const { replay, players, result } = body.data
    const replayed = replayInputs(unpackInputs(replayBytes(replay.inputs)), body.data.ticks)

    assert.equal(status, 200)
    assert.equal(replay.format, 'reeve-arena-1')
    assert.deepEqual(replayed.positions, [players[0].position, players[1].position])
    assert.deepEqual(result, ended.p.result)
    assert.equal(replayed.winner === null ? null : players[replayed.winner].userId, result.winnerUserId)
    assert.equal(players[0].userId, ann.userId)
    assert(unpackInputs(replayBytes(replay.inputs)).length > 10)
    for (const id of ['00000000-0000-7000-8000-000000000000', 'nonsense']) {
      const none = await ask(url, `/api/matches/${id}`, { token: bob.token })
      assert.deepEqual([none.status, none.body.error.code], [404, 'not_found'])
    }
  })

  test('arena 7.2: matches are listed newest first and ratings as a chain, page by page', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICKS: '2', SESSION_TICK_INTERVAL_MS: '10' } })
    const { ann, bob, annLine } = await matched(t, url)
    await annLine.event('session.ended')
    for (let n = 0; n < 2; n += 1) {
      await Promise.all([join(url, ann), join(url, bob)])
      await annLine.event('session.ended')
    }
    const get = async (path: string) => (await ask(url, path, { token: ann.token })).body.data

    const all = await get('/api/matches')
    const firstPage = await get('/api/matches?size=2')
    const rest = await get(`/api/matches?size=2&before=${firstPage.nextBefore}`)
    const { ratings } = await get('/api/profile/ratings')
    const his = await get(`/api/profile/ratings?userId=${bob.userId}&size=1`)

    assert.equal(all.matches.length, 3)
    assert.deepEqual([...firstPage.matches, ...rest.matches], all.matches)
    assert.equal(rest.nextBefore, null)
    assert.deepEqual(
      ratings.map(({ game }: { game: number }) => game),
      [3, 2, 1],
    )
    assert.equal(ratings[0].ratingBefore, ratings[1].ratingAfter)
    assert.equal(ratings[2].ratingBefore, 1500)
    assert.deepEqual([his.ratings.length, his.ratings[0].score, his.nextBefore], [1, 0.5, 3])
    assert.equal((await ask(url, '/api/matches?size=0', { token: ann.token })).status, 400)
    assert.equal((await ask(url, '/api/matches?before=x', { token: ann.token })).status, 400)
    assert.equal((await ask(url, '/api/matches')).status, 401)
  })

  test('arena 7.5: the topic `matches` of /live tells both players that a match of theirs has ended', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICKS: '2', SESSION_TICK_INTERVAL_MS: '10' } })
    const cid = await player(url, 'cid')
    const told = new Map<string, string[]>()
    const follow = ({ username, token }: Pick<Player, 'username' | 'token'>) => {
      const live = new ReeveClient({ url, token }).live({ WebSocket })
      t.after(() => live.close())
      const heard: string[] = []
      told.set(username, heard)
      return new Promise<void>((resolve) => {
        live.follow({
          topic: 'matches',
          onMessage: ({ type, payload }) => (type === 'following' ? resolve() : heard.push(JSON.stringify(payload))),
        })
      })
    }
    await follow(cid)
    const { ann, bob, annLine, sessionId } = await matched(t, url)
    await Promise.all([follow(ann), follow(bob)])
    await annLine.event('session.ended')

    await until('both are told', () => told.get(ann.username)?.length === 1 && told.get(bob.username)?.length === 1)
    assert.deepEqual(told.get(ann.username), [JSON.stringify({ matchId: sessionId })])
    assert.deepEqual(told.get(bob.username), told.get(ann.username))
    assert.deepEqual(told.get('cid'), [])
  })

  test('arena 7.5: with `running` the topic `matches` sends the running matches, and again when one has ended', async (t) => {
    const { url } = await startServer(t, { env: LONG })
    const { ann, annLine, sessionId } = await matched(t, url)
    const [running] = (await ask(url, '/api/matches/live', { token: ann.token })).body.data.matches
    const live = new ReeveClient({ url, token: (await player(url, 'cid')).token }).live({ WebSocket })
    t.after(() => live.close())
    const told: unknown[] = []
    const onMessage = ({ type, payload }: LiveMessage) => void (type === 'running' && told.push(payload))
    live.follow({ topic: 'matches', params: { running: true }, onMessage })
    await until('the match is told', () => told.length === 1)
    annLine.send('session.resign', { sessionId }, 9)
    await until('its end is told', () => told.length === 2)

    const { matchId, mode, participants, ticks, createdAt } = running
    assert.deepEqual(told, [{ matches: [{ matchId, mode, participants, ticks, createdAt }] }, { matches: [] }])
    assert.equal(matchId, sessionId)
  })

  test('arena 7.3: session.watch lets a bounded number of others follow a match read-only', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_WATCHERS_MAX: '2', ...LONG } })
    const { ann, annLine, sessionId } = await matched(t, url)
    const lines: Line[] = []
    for (const name of ['eve', 'finn', 'gus']) lines.push(await connect(t, url, await player(url, name)))
    const [eve, finn, gus] = lines
    assert(eve !== undefined && finn !== undefined && gus !== undefined)

    const listed = await ask(url, '/api/matches/live', { token: ann.token })
    eve.send('session.watch', { sessionId }, 4)
    const watching = await eve.event('session.watching')
    await eve.event('session.state')
    finn.send('session.watch', { sessionId }, 5)
    await finn.event('session.watching')
    gus.send('session.watch', { sessionId }, 6)
    const full = await gus.error()
    eve.send('session.input', { sessionId, sequence: 1, targetTick: 3, delta: 3 }, 7)
    const refused = await eve.error()
    finn.send('session.unwatch', { sessionId }, 8)
    await finn.event('session.unwatched')
    gus.send('session.watch', { sessionId }, 9)
    await gus.event('session.watching')
    gus.send('session.watch', { sessionId: '00000000-0000-7000-8000-000000000000' }, 10)
    const unknown = await gus.error()
    annLine.send('session.resign', { sessionId }, 11)
    await eve.event('session.ended')
    await annLine.event('session.ended')
    finn.send('echo', { message: 'what came before' })
    await finn.event('echo')

    assert.deepEqual(
      listed.body.data.matches.map((match: { matchId: string }) => match.matchId),
      [sessionId],
    )
    assert.deepEqual([watching.seq, watching.p.sessionId, watching.p.participants.length], [4, sessionId, 2])
    assert.deepEqual([full.seq, full.p.code], [6, 'session_full'])
    assert.deepEqual([refused.seq, refused.p.code], [7, 'not_participant'])
    assert.deepEqual([unknown.seq, unknown.p.code], [10, 'session_not_found'])
    assert(!finn.messages.some(({ event }) => event === 'session.ended'))
  })

  test('arena 7.4: session.watching shows the current session; a watcher who leaves before the answer takes no place', async (t) => {
    const { url } = await startServer(t, {
      env: { SESSION_WATCHERS_MAX: '1', SESSION_TICK_INTERVAL_MS: '20', SESSION_TICKS: '6000' },
    })
    const { annLine, sessionId } = await matched(t, url)
    const eve = await player(url, 'eve')
    const hurried = await Promise.all(Array.from({ length: 8 }, () => connect(t, url, eve)))
    for (const line of hurried) {
      line.send('session.watch', { sessionId })
      line.socket.terminate()
    }
    await until('they are gone', async () => (await ask(url, '/metrics')).body.data.connections.websocket === 2)
    const line = await connect(t, url, eve)
    const { tick } = (await annLine.next(({ event, p }) => event === 'session.state' && p.tick >= 40)).p

    line.send('session.watch', { sessionId }, 4)
    const answer = await line.next(({ seq }) => seq === 4)

    assert.equal(answer.event, 'session.watching', JSON.stringify(answer))
    assert(answer.p.tick >= tick, `${answer.p.tick} after ${tick}`)
  })

  test('arena 5.6: cancelling the job voids the match: reason void, no rating moves, both may queue again', async (t) => {
    const { url } = await startServer(t, { env: LONG })
    const { ann, bob, annLine, bobLine, sessionId } = await matched(t, url)
    const admin = await ask(url, '/auth/login', { body: { username: 'admin', password: 'admin password' } })

    const cancelled = await ask(url, `/admin/jobs/${sessionId}/cancel`, { token: admin.body.access_token, body: {} })
    const ended = await annLine.event('session.ended')
    await bobLine.event('session.ended')

    assert.equal(cancelled.status, 200)
    assert.deepEqual(ended.p, { sessionId, reason: 'void', result: null })
    const profile = await ask(url, '/api/profile', { token: ann.token })
    assert.deepEqual([profile.body.data.rating, profile.body.data.matches], [1500, 0])
    const match = await ask(url, `/api/matches/${sessionId}`, { token: bob.token })
    assert.deepEqual([match.body.data.reason, match.body.data.result], ['void', null])
    assert.equal((await join(url, ann)).status, 200)
  })
})

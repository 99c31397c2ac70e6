// The SDK's client against a real server: what it is for, and what happens when the connection goes.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { ReeveError } from '@reeve/sdk'
import { ArenaClient, ArenaError, replayBytes, replayInputs, unpackInputs, type ArenaSession } from '@reeve/sdk/arena'
import { WebSocket } from 'ws'
import { atEnd } from '../../support/cleanup.ts'
import { startProxy } from '../../support/proxy.ts'
import { until } from '../../support/until.ts'
import { startServer } from './setup.ts'

async function client(t: TestContext, url: string, username: string): Promise<ArenaClient> {
  const arena = await ArenaClient.login({ url, username, password: 'p password', register: true, WebSocket })
  atEnd(t, () => arena.close())
  return arena
}

/** TCP that can be cut. */
async function proxyTo(t: TestContext, url: string) {
  const { port } = new URL(url)
  const sockets = new Set<net.Socket>()
  const server = net.createServer((inner) => {
    const outer = net.connect(Number(port), '127.0.0.1')
    for (const socket of [inner, outer]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    inner.pipe(outer).pipe(inner)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => sockets.forEach((socket) => socket.destroy())
  atEnd(t, () => {
    cut()
    server.close()
  })
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  return { url: `http://127.0.0.1:${address.port}`, cut }
}

/** Plays until the end: always forwards, or always back. */
function playing(session: ArenaSession, delta: number) {
  session.onState(() => session.move(delta))
  return session.ended
}

describe('the SDK’s arena client', () => {
  test('connects, queues, plays, and reads what came of it', async (t) => {
    // After a pause a match catches up on a second of ticks at once: there are more, so that somebody moves.
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '100', SESSION_TICKS: '20' } })
    const [ann, bob] = [await client(t, url, 'ann'), await client(t, url, 'bob')]

    const [mine, his] = await Promise.all([ann.play(), bob.play()])
    const [ended] = await Promise.all([playing(mine, 2), playing(his, -1)])
    const profile = await ann.profile()
    const match = await bob.match(mine.sessionId)
    const replayed = replayInputs(unpackInputs(replayBytes(match.replay.inputs)), match.ticks)

    assert.equal(mine.sessionId, his.sessionId)
    assert(mine.isPlayer)
    assert.deepEqual(ended, {
      sessionId: mine.sessionId,
      reason: 'completed',
      result: { winnerUserId: profile.userId, ticks: 20 },
    })
    assert.deepEqual([profile.username, profile.rating, profile.wins], ['ann', 1662, 1])
    assert.deepEqual(
      replayed.positions,
      match.players.map(({ position }) => position),
    )
    assert.equal((await ann.leaderboard({ size: 1 })).entries[0]?.username, 'ann')
    assert.equal((await ann.matches()).matches[0]?.matchId, mine.sessionId)
    assert.equal((await ann.ratings()).ratings[0]?.ratingBefore, 1500)
    assert.equal(await ann.echo('안녕'), '안녕')
    assert.equal(ann.session, null)
  })

  test('a wait in vain rejects with queue_timeout, a second join with 409; cancel ends a wait', async (t) => {
    const { url } = await startServer(t)
    const ann = await client(t, url, 'ann')

    await assert.rejects(
      ann.play({ timeoutSeconds: 1 }),
      (error) => error instanceof ArenaError && error.code === 'queue_timeout',
    )
    await ann.join({ mode: 'rated' })
    await assert.rejects(ann.join(), (error) => error instanceof ReeveError && error.status === 409)
    assert.deepEqual(await ann.cancel(), { canceled: true })
  })

  test('a connection that is cut in the middle of a match comes back by itself, and the match goes on', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICKS: '60' } })
    const proxy = await proxyTo(t, url)
    const ann = await client(t, proxy.url, 'ann')
    const bob = await client(t, url, 'bob')
    const connections: string[] = []
    ann.on('connection', (state) => connections.push(state))

    const [mine, his] = await Promise.all([ann.play(), bob.play()])
    let cuts = 0
    mine.onState(({ tick }) => {
      if ((tick >= 10 && cuts === 0) || (tick >= 30 && cuts === 1)) {
        cuts += 1
        proxy.cut()
      }
    })
    const [ended, his2] = await Promise.all([playing(mine, 1), playing(his, 0)])

    assert.deepEqual(ended, his2)
    assert.equal(ended.result?.winnerUserId, (await ann.profile()).userId)
    assert.deepEqual(connections, ['open', 'lost', 'open', 'lost', 'open'])
    assert.equal(mine.state.tick, 60)
  })

  test('an end that was missed is found out after the connection is back', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICKS: '5', SESSION_TICK_INTERVAL_MS: '20' } })
    const proxy = await proxyTo(t, url)
    const ann = await client(t, proxy.url, 'ann')
    const bob = await client(t, url, 'bob')

    const [mine, his] = await Promise.all([ann.play(), bob.play()])
    proxy.cut() // it takes at least 125 ms to try again
    const [ended, told] = await Promise.all([mine.ended, his.ended])

    assert.deepEqual(ended, told)
  })

  test('watches a match of others, also after its connection was cut, and hears of an end that it missed', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '50', SESSION_TICKS: '6000' } })
    const proxy = await proxyTo(t, url)
    const [ann, bob] = [await client(t, url, 'ann'), await client(t, url, 'bob')]
    const [eve, finn] = [await client(t, proxy.url, 'eve'), await client(t, url, 'finn')]
    const [mine] = await Promise.all([ann.play(), bob.play()])

    const { matches } = await eve.liveMatches()
    const watched = await eve.watch(matches[0]?.matchId ?? '')
    const left = await finn.watch(mine.sessionId)
    await finn.unwatch(mine.sessionId)
    const leftAt = left.state.tick
    const ticks: number[] = []
    watched.onState(({ tick }) => {
      ticks.push(tick)
      if (ticks.length === 3) proxy.cut()
    })
    await until('it is watched again', () => ticks.length > 5)
    mine.resign()
    const ended = await watched.ended

    assert.equal(watched.sessionId, mine.sessionId)
    assert(!watched.isPlayer)
    assert.equal(ended.reason, 'resigned')
    assert.deepEqual(ended, await mine.ended)
    assert.equal(left.state.tick, leftAt)
  })

  test('a server that cannot be reached, or a token that is not good, is told at once', async (t) => {
    const { url } = await startServer(t)

    await assert.rejects(new ArenaClient({ url, token: 'f'.repeat(64), WebSocket }).connect())
    await assert.rejects(new ArenaClient({ url: 'http://127.0.0.1:1', token: 'x', WebSocket }).connect())
    if (typeof globalThis.WebSocket !== 'function') assert.throws(() => new ArenaClient({ url, token: 'x' }), /ws/)
  })

  test('a guest plays the bot, resigns and gets a rematch; a private match tells of the opponent who left', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICKS: '600' } })
    const guest = await ArenaClient.guest({ url, WebSocket })
    const [ann, bob] = [await client(t, url, 'ann'), await client(t, url, 'bob')]
    atEnd(t, () => guest.close())

    const first = await guest.play({ mode: 'bot' })
    first.resign()
    const resigned = await first.ended
    const followed = new Promise<ArenaSession>((resolve) => guest.on('session', resolve))
    await first.rematch()
    const second = await followed
    const [own] = await Promise.all([
      ann.play({ mode: 'private', code: 'sesame' }),
      bob.play({ mode: 'private', code: 'sesame' }),
    ])
    const left = new Promise((resolve) => own.onPresence(resolve))
    bob.close()

    assert.deepEqual([resigned.reason, resigned.result?.winnerUserId], ['resigned', 0])
    assert.notEqual(second.sessionId, first.sessionId)
    const { userId } = own.participants.find(({ username }) => username === 'bob') ?? { userId: 0 }
    assert.deepEqual(await left, { userId, isPresent: false })
    assert.equal((await ann.player()).rank, null)
  })

  test('a connection that falls silent is given up, and the match goes on over a new one', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICKS: '6000' } })
    const network = await startProxy(t, { host: '127.0.0.1', port: Number(new URL(url).port) })
    const ann = await client(t, `http://127.0.0.1:${network.port}`, 'ann')
    const session = await ann.play({ mode: 'bot' })
    const states: string[] = []
    ann.on('connection', (state) => states.push(state))

    network.partition()
    await until('the silence is noticed', () => states.includes('lost'))
    network.heal()
    await until('it is connected again', () => states.includes('open'))
    const { tick } = session.state
    await until('states come again', () => session.state.tick > tick + 3)

    assert.deepEqual(states.slice(0, 1), ['lost'])
    assert.equal(session.ticks, 6000)
  })
})

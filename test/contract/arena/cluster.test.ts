// Two servers on one database: they share the queue, and players of one match may sit on different ones.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { sharedRedis } from '../../support/servers.ts'
import { ask, connect, join, player, startServer, type Line, type Message } from './setup.ts'

const states = (line: Line): Message[] => line.messages.filter(({ event }) => event === 'session.state')
const ticksOf = (line: Line): number[] => states(line).map(({ p }) => Number(p.tick))

/** An input for a tick soon arrives in time on a busy machine, too. */
const SLOW = { SESSION_TICK_INTERVAL_MS: '300' }

// At once: what they wait for is ticks, in real time.
describe('arena: several servers', { concurrency: 2 }, () => {
  for (const bus of ['PostgreSQL', 'Redis'] as const) {
    const setup = async (t: TestContext, env: Record<string, string> = {}) => {
      const redis = bus === 'Redis' ? { REDIS_URL: await sharedRedis() } : {}
      const first = await startServer(t, { env: { ...redis, ...env } })
      const second = await startServer(t, { env: { ...redis, ...env }, on: first.at })
      return { first, second, redis }
    }

    /** Ann on the first server, Bob on the second, in one match. */
    const apart = async (t: TestContext, env: Record<string, string> = {}) => {
      const servers = await setup(t, env)
      const { first, second } = servers
      const ann = await player(first.url, 'ann')
      const bob = await player(first.url, 'bob')
      const annLine = await connect(t, first.url, ann)
      const bobLine = await connect(t, second.url, bob)
      await annLine.event('auth_state')
      const { resumeToken } = (await bobLine.event('auth_state')).p
      await join(second.url, ann)
      await join(first.url, bob)
      const created = await annLine.event('session.created')
      return {
        ...servers,
        ann,
        bob,
        annLine,
        bobLine,
        created,
        sessionId: String(created.p.sessionId),
        bobToken: resumeToken,
      }
    }

    describe(`arena: several servers, ${bus} as the bus`, { concurrency: 3 }, () => {
      test('arena 11.1: players on different servers play one match, and both receive all of it', async (t) => {
        const { first, ann, bob, annLine, bobLine, created, sessionId } = await apart(t, {
          ...SLOW,
          SESSION_TICKS: '24',
        })

        const bobCreated = await bobLine.event('session.created')
        const bobStarted = await bobLine.event('session.started')
        annLine.send('session.input', { sessionId, sequence: 1, targetTick: 8, delta: 1 })
        bobLine.send('session.input', { sessionId, sequence: 1, targetTick: 8, delta: 3 })
        await bobLine.next(({ event, p }) => event === 'session.state' && p.tick >= 12)
        bobLine.send('session.input', { sessionId, sequence: 1, targetTick: 20, delta: 3 }, 77)
        const refused = await bobLine.error()
        annLine.send('session.input', { sessionId, sequence: 0, targetTick: 20, delta: 3 }, 78)
        const alsoRefused = await annLine.error()
        const ended = await bobLine.event('session.ended')
        const annEnded = await annLine.event('session.ended')

        assert.deepEqual(bobCreated, created)
        assert.equal(bobStarted.p.tick, 0)
        assert.deepEqual([refused.seq, refused.p.code], [77, 'input_invalid'])
        assert.deepEqual([alsoRefused.seq, alsoRefused.p.code], [78, 'input_invalid'])
        assert.deepEqual(ended, annEnded)
        assert.deepEqual(ended.p.result, { winnerUserId: bob.userId, ticks: 24 })
        for (const line of [annLine, bobLine]) {
          const last = states(line).at(-1)
          assert.deepEqual(
            last?.p.players.map((one: { position: number }) => one.position),
            [1, 3],
          )
          assert(
            ticksOf(line).every((tick, index, all) => index === 0 || tick === (all[index - 1] ?? 0) + 1 || tick > 11),
          )
        }
        assert.equal((await ask(first.url, '/api/profile', { token: ann.token })).body.data.losses, 1)
      })

      test('arena 11.2: a player connected to another server can resync, watch and time out', async (t) => {
        const { first, second, bobLine, bobToken, sessionId } = await apart(t, { SESSION_TICKS: '6000' })
        const eve = await player(first.url, 'eve')
        const onFirst = await connect(t, first.url, eve)
        const onSecond = await connect(t, second.url, eve)
        await bobLine.event('session.state')

        bobLine.send('resync_request', { resumeToken: bobToken }, 3)
        const { snapshot } = (await bobLine.event('resync_state')).p
        const watched = []
        for (const line of [onFirst, onSecond]) {
          line.send('session.watch', { sessionId }, 4)
          watched.push((await line.event('session.watching')).p.sessionId)
          await line.event('session.state')
          line.send('session.input', { sessionId, sequence: 1, targetTick: 10, delta: 1 }, 5)
          assert.equal((await line.error()).p.code, 'not_participant')
        }
        const frank = await player(first.url, 'frank')
        const frankLine = await connect(t, second.url, frank)
        frankLine.send('session.input', { sessionId, sequence: 1, targetTick: 10, delta: 1 }, 6)
        const stranger = await frankLine.error()
        await join(first.url, frank, { mode: 'normal', timeoutSeconds: 1 })
        const timeout = await frankLine.error('queue_timeout')
        bobLine.send('session.resign', { sessionId }, 7)
        const ends = [await onFirst.event('session.ended'), await onSecond.event('session.ended')]

        assert.deepEqual([snapshot.state, snapshot.session.sessionId], ['in_session', sessionId])
        assert.deepEqual(watched, [sessionId, sessionId])
        assert.equal(stranger.p.code, 'not_participant')
        assert.equal(timeout.seq, 0)
        assert.deepEqual(
          ends.map(({ p }) => p.reason),
          ['resigned', 'resigned'],
        )
      })

      test('arena 11.3: a server that stops releases its match, and another continues it from there', async (t) => {
        const { first, second, ann, bob, annLine, bobLine, sessionId } = await apart(t, {
          ...SLOW,
          SESSION_TICKS: '40',
        })
        await bobLine.event('session.created')
        annLine.send('session.input', { sessionId, sequence: 1, targetTick: 9, delta: 3 })
        bobLine.send('session.input', { sessionId, sequence: 1, targetTick: 9, delta: 1 })
        await bobLine.next(({ event, p }) => event === 'session.state' && p.tick >= 11)
        // Whichever runs it: the one that does is stopped.
        const isFirst = (await ask(first.url, '/metrics')).body.data.sessions.active === 1
        const [stopping, going] = isFirst ? [first, second] : [second, first]
        const [gone, staying] = isFirst ? [ann, bob] : [bob, ann]
        const stayingLine = isFirst ? bobLine : annLine

        await stopping.stop()
        const back = await connect(t, going.url, gone)
        const state = await back.event('session.state')
        stayingLine.send('session.input', { sessionId, sequence: 2, targetTick: state.p.tick + 8, delta: 3 })
        const ended = await back.event('session.ended')
        await stayingLine.event('session.ended')

        assert(state.p.tick >= 11, 'it did not go on from where it was')
        assert.equal(ended.p.result.ticks, 40)
        const match = await ask(going.url, `/api/matches/${sessionId}`, { token: staying.token })
        const positions = match.body.data.players.map((one: { position: number }) => one.position)
        assert.deepEqual(positions, isFirst ? [3, 4] : [6, 1])
      })
    })
  }
})

// Servers of the arena that are killed in the middle of a match: it goes on elsewhere, or after the restart, and ends once.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { ArenaClient, type ArenaSession } from '@reeve/sdk/arena'
import { Client } from 'pg'
import { WebSocket } from 'ws'
import { migrationFolders } from '../../src/doors/outline.ts'
import { urlOf } from '../contract/arena/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { freshDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { dataFolder, spawnReeve } from './reeve.ts'

/** What a load balancer does: a client keeps its address, and what is behind it may change. */
async function openProxy(t: TestContext) {
  let target = 0
  const sockets = new Set<net.Socket>()
  const server = net.createServer((inner) => {
    const outer = net.connect(target, '127.0.0.1')
    for (const socket of [inner, outer]) {
      sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket)
          inner.destroy()
          outer.destroy()
        })
    }
    inner.pipe(outer).pipe(inner)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  return { url: `http://127.0.0.1:${address.port}`, to: (url: string) => (target = Number(new URL(url).port)) }
}

async function setup(t: TestContext, settings: Record<string, string> = {}) {
  const at = await freshDatabase(migrationFolders())
  const folder = await dataFolder(t)
  const start = async () => {
    const reeve = spawnReeve(t, folder, {
      DATABASE_URL: urlOf(at),
      DOORS: 'arena',
      SESSION_LEASE_SECONDS: '1',
      SESSION_TICK_INTERVAL_MS: '50',
      SESSION_TICKS: '120',
      ...settings,
    })
    const { url } = await reeve.ready()
    const kill = async () => {
      reeve.signal('SIGKILL')
      await reeve.exited
    }
    return { url, kill }
  }
  const database = new Client(at)
  await database.connect()
  atEnd(t, () => database.end())
  const player = async (username: string) => {
    const proxy = await openProxy(t)
    return {
      proxy,
      login: async () => {
        const arena = await ArenaClient.login({
          url: proxy.url,
          username,
          password: 'p password',
          register: true,
          WebSocket,
        })
        atEnd(t, () => arena.close())
        return arena
      },
    }
  }
  const counts = async () => {
    const { rows } = await database.query(`
      select (select count(*)::integer from match_results) as results, (select count(*)::integer from rating_applies) as applies,
             (select count(*)::integer from seats) as seats, (select sum(games)::integer from players) as games`)
    return rows[0]
  }
  return { start, player, database, counts }
}

const untilTick = (session: ArenaSession, tick: number) =>
  until(`tick ${tick} was played`, () => session.state.tick >= tick || session.outcome !== null)

/** Moves until a snapshot has it: on a slow machine a move may come too late for its tick, and a snapshot late to the disk. */
async function moveForSure(session: ArenaSession, delta: number, database: Client): Promise<void> {
  let nextMove = 0
  await until('a snapshot has the move', async () => {
    const { rowCount } = await database.query('select from live_matches where tick > 10 and length(inputs) > 0')
    if (rowCount !== 0 || session.outcome !== null) return true
    if (session.state.tick < nextMove) return false
    session.move(delta)
    nextMove = session.state.tick + 5
    return false
  })
}

const runsOn = async (url: string): Promise<number> => {
  const response = await fetch(`${url}/metrics`)
  return JSON.parse(await response.text()).data.sessions.active
}

// At once: what they wait for is leases and ticks, in real time.
describe('a server of the arena that is killed', { concurrency: 4 }, () => {
  test('arena 11.4: its match continues on another server from the last snapshot and is recorded once', async (t) => {
    const { start, player, database, counts } = await setup(t)
    const [first, second] = await Promise.all([start(), start()])
    const [ann, bob] = [await player('ann'), await player('bob')]
    ann.proxy.to(first.url)
    bob.proxy.to(second.url)
    const [annArena, bobArena] = await Promise.all([ann.login(), bob.login()])
    const [mine, his] = await Promise.all([annArena.play(), bobArena.play()])
    await moveForSure(mine, 3, database)
    const isFirst = (await runsOn(first.url)) === 1
    const [dying, living, homeless] = isFirst ? [first, second, ann] : [second, first, bob]

    await dying.kill()
    homeless.proxy.to(living.url)
    const ticks: number[] = []
    his.onState(({ tick }) => ticks.push(tick))
    const [ended, told] = await Promise.all([mine.ended, his.ended])

    assert.deepEqual(ended, told)
    assert.equal(ended.reason, 'completed')
    assert.equal(ended.result?.winnerUserId, (await annArena.profile()).userId, 'the move of before was lost')
    assert(Math.min(...ticks) > 5, 'it began anew')
    assert.deepEqual(await counts(), { results: 1, applies: 2, seats: 0, games: 2 })
  })

  test('its match goes on after the restart, and the players come back into it', async (t) => {
    const { start, player, database, counts } = await setup(t)
    const first = await start()
    const [ann, bob] = [await player('ann'), await player('bob')]
    for (const { proxy } of [ann, bob]) proxy.to(first.url)
    const [annArena, bobArena] = await Promise.all([ann.login(), bob.login()])
    const [mine, his] = await Promise.all([annArena.play(), bobArena.play()])
    await moveForSure(his, 2, database)

    await first.kill()
    const second = await start()
    for (const { proxy } of [ann, bob]) proxy.to(second.url)
    const [ended, told] = await Promise.all([mine.ended, his.ended])

    assert.deepEqual(ended, told)
    assert.equal(ended.result?.winnerUserId, (await bobArena.profile()).userId)
    assert.deepEqual(await counts(), { results: 1, applies: 2, seats: 0, games: 2 })
  })

  test('arena 11.5: its match is void when the snapshot is too old: both are told, no rating moves, both may queue again', async (t) => {
    // Long: it must not be over before the server is killed.
    const { start, player, counts } = await setup(t, { SESSION_RESUME_SECONDS: '0', SESSION_TICKS: '1200' })
    const first = await start()
    const [ann, bob] = [await player('ann'), await player('bob')]
    for (const { proxy } of [ann, bob]) proxy.to(first.url)
    const [annArena, bobArena] = await Promise.all([ann.login(), bob.login()])
    const [mine, his] = await Promise.all([annArena.play(), bobArena.play()])
    await untilTick(mine, 10)

    await first.kill()
    const second = await start()
    for (const { proxy } of [ann, bob]) proxy.to(second.url)
    const [ended, told] = await Promise.all([mine.ended, his.ended])

    assert.deepEqual([ended.reason, ended.result], ['void', null])
    assert.deepEqual(ended, told)
    assert.deepEqual(await counts(), { results: 1, applies: 0, seats: 0, games: 0 })
    assert.equal((await annArena.join()).queued, true)
  })

  test('between the last tick and the commit: the next server records the result, once', async (t) => {
    const { start, player, database, counts } = await setup(t, { SESSION_TICKS: '40' })
    const first = await start()
    const [ann, bob] = [await player('ann'), await player('bob')]
    for (const { proxy } of [ann, bob]) proxy.to(first.url)
    const [annArena, bobArena] = await Promise.all([ann.login(), bob.login()])
    await database.query('begin')
    await database.query('lock table rating_applies in exclusive mode') // nobody can commit a result
    const [mine] = await Promise.all([annArena.play(), bobArena.play()])
    await until('the finalize waits', async () => {
      const { rowCount } = await database.query(
        `select from pg_locks where relation = 'rating_applies'::regclass and not granted`,
      )
      return rowCount !== 0
    })

    await first.kill()
    await database.query('commit')
    const second = await start()
    for (const { proxy } of [ann, bob]) proxy.to(second.url)
    const ended = await mine.ended

    assert.equal(ended.reason, 'completed')
    assert.deepEqual(await counts(), { results: 1, applies: 2, seats: 0, games: 2 })
  })
})

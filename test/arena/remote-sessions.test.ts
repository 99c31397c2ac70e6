import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { encodeMessage, type NodeMessage } from '../../src/doors/arena/cluster/messages.ts'
import { RemoteSessions } from '../../src/doors/arena/cluster/remote-sessions.ts'
import type { Client } from '../../src/doors/arena/engine/audience.ts'
import { Game } from '../../src/doors/arena/engine/game.ts'
import { Sessions } from '../../src/doors/arena/engine/sessions.ts'
import { Wheel } from '../../src/doors/arena/engine/wheel.ts'
import { openMatchStore } from '../../src/doors/arena/matches/match-store.ts'
import { openPresence } from '../../src/doors/arena/players/presence.ts'
import { Players } from '../../src/doors/arena/sockets/players.ts'
import { heldMatch, setup as setupNode } from './setup.ts'

const SESSION = '01a1e1c4-f6c7-70b5-9a08-3c39fa5206f3'

const listener = (userId: number) => {
  const heard: string[] = []
  const client: Client = {
    id: userId,
    userId,
    language: 'ko',
    send: (text) => heard.push(text),
    sendFrame: (frame) => heard.push(frame.toString('utf8', 2)),
  }
  return { client, heard }
}

async function setup(t: TestContext) {
  const { database, first, userIds } = await setupNode(t, 2)
  const { hot: pool } = database
  const wheel = new Wheel()
  t.after(() => wheel.stop())
  const players = new Players()
  const sent: string[] = []
  const send = (node: string, message: NodeMessage) => sent.push(`${node}: ${encodeMessage(message)}`)
  const sessions = new Sessions({ wheel, stamp: String, send, onLastTick: () => {} })
  const remotes = new RemoteSessions({
    node: 'here',
    pool,
    store: openMatchStore(pool),
    presence: openPresence({ pool, node: 'here', tokenTtlSec: 60 }),
    players,
    sessions,
    send,
  })
  return { remotes, players, sessions, sent, first, userIds }
}

test('a player hears how a match elsewhere begins, once, although somebody here was watching it before', async (t) => {
  const { remotes, players, sent } = await setup(t)
  const [eve, bob] = [listener(1), listener(2)]
  for (const { client } of [eve, bob]) players.enter(client)

  const hello = { sessionId: SESSION, node: 'there', userIds: [2, 3], greetings: ['created', 'started'] }

  remotes.watch(SESSION, 'there', eve.client)
  remotes.onHello(hello)
  remotes.onHello(hello) // the answer was lost: it is said again
  remotes.onEvent(SESSION, 'state')

  assert.deepEqual(bob.heard, ['created', 'started', 'state'])
  assert.deepEqual(eve.heard, ['state'])
  assert(sent.includes(`there: attach ${SESSION} here 2`))
})

test('a session that this server has lost to another is heard from there, by its players and by those who watch', async (t) => {
  const { remotes, players, sessions, sent, first, userIds } = await setup(t)
  const [ann = 0, bob = 0] = userIds
  const { match, held } = await heldMatch(first, [ann, bob]) // it runs on "node 1"
  const session = sessions.open({ match, game: new Game(match.ticks), held })
  const [player, eve] = [listener(ann), listener(-1)]
  for (const { client } of [player, eve]) players.enter(client)
  session.audience.add(eve.client)
  sessions.forget(session)

  await remotes.moved(session)
  remotes.onEvent(match.matchId, 'state')

  assert(sent.includes(`node 1: attach ${match.matchId} here ${ann}`))
  assert.deepEqual([player.heard, eve.heard], [['state'], ['state']])
})

test('those who watch find a session again although no player is here to lead them', async (t) => {
  const { remotes, sessions, sent, first, userIds } = await setup(t)
  const [ann = 0, bob = 0] = userIds
  const { match, held } = await heldMatch(first, [ann, bob])
  const session = sessions.open({ match, game: new Game(match.ticks), held })
  const eve = listener(-1)
  session.audience.add(eve.client)
  sessions.forget(session)

  await remotes.moved(session)
  remotes.onUnknown(match.matchId) // what this node answers to itself
  await remotes.loop.runOnce(new AbortController().signal)
  remotes.onEvent(match.matchId, 'state')

  assert(sent.includes(`node 1: attach ${match.matchId} here 0`))
  assert.deepEqual(eve.heard, ['state'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { Remotes } from '../../src/doors/arena/cluster/remotes.ts'
import type { Client } from '../../src/doors/arena/engine/audience.ts'
import { Sessions } from '../../src/doors/arena/engine/sessions.ts'
import { Wheel } from '../../src/doors/arena/engine/wheel.ts'
import { openMatchStore } from '../../src/doors/arena/matches/match-store.ts'
import { openPresence } from '../../src/doors/arena/players/presence.ts'
import { Players } from '../../src/doors/arena/sockets/players.ts'
import { setup } from './setup.ts'

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

test('a player hears how a match elsewhere begins, once, although somebody here was watching it before', async (t) => {
  const { database } = await setup(t, 0)
  const { hot: pool } = database
  const wheel = new Wheel()
  t.after(() => wheel.stop())
  const players = new Players()
  const posted: string[] = []
  const post = (_node: string, line: string) => posted.push(line)
  const remotes = new Remotes({
    node: 'here',
    pool,
    store: openMatchStore(pool),
    presence: openPresence({ pool, node: 'here', tokenTtlSec: 60 }),
    players,
    sessions: new Sessions({ wheel, stamp: String, post, onLastTick: () => {} }),
    post,
    log: pino({ enabled: false }),
  })
  const [eve, bob] = [listener(1), listener(2)]
  for (const { client } of [eve, bob]) players.enter(client)

  remotes.watch(SESSION, 'there', eve.client)
  remotes.onHello(SESSION, 'there', [2, 3], ['created', 'started'])
  remotes.onHello(SESSION, 'there', [2, 3], ['created', 'started']) // the answer was lost: it is said again
  remotes.onEvent(SESSION, 'state')

  assert.deepEqual(bob.heard, ['created', 'started', 'state'])
  assert.deepEqual(eve.heard, ['state'])
  assert(posted.includes(`attach ${SESSION} here 2`))
})

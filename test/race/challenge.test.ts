// Two server processes on one database receive the same requests at the same time.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { migrationFolders } from '../../src/doors/outline.ts'
import {
  ENV,
  feedEnv,
  FEEDS,
  post,
  postSigned,
  signedHeaders,
  solveBody,
  urlOf,
  type FeedName,
} from '../contract/challenge/setup.ts'
import { startPeer } from '../crash/peer.ts'
import type { SolverOptions } from '../crash/solver-process.ts'
import { freshDatabase } from '../support/database.ts'

const SERVER = new URL('../crash/solver-process.ts', import.meta.url)
const CALLBACK = 'https://challenger.example/callback/c'

async function twoServers(t: TestContext, feed: FeedName = 'PostgreSQL'): Promise<string[]> {
  const at = await freshDatabase(migrationFolders())
  const settings = { ...ENV, DATABASE_URL: urlOf(at), ...(await feedEnv(t, feed)) }
  const start = () => startPeer(t, SERVER, { role: 'serve', dieAt: null, settings } satisfies SolverOptions)
  const servers = [start(), start()]
  assert.notEqual(servers[0]?.pid, servers[1]?.pid)
  return Promise.all(servers.map(async (server) => (await server.heard('ready')).line ?? ''))
}

function count(words: readonly unknown[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const word of words) counts[String(word)] = (counts[String(word)] ?? 0) + 1
  return counts
}

const everywhere = <T>(times: number, servers: readonly string[], send: (server: string) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, index) => send(servers[index % servers.length] ?? '')))

describe('challenge: two server processes on one database', () => {
  for (const feed of FEEDS)
    test(`of 200 identical requests one is accepted, and 199 are REPLAY_ATTACK (${feed})`, async (t) => {
      const servers = await twoServers(t, feed)
      const body = JSON.stringify(solveBody('c1', CALLBACK))
      const headers = signedHeaders('/solve', body)

      const answers = await everywhere(200, servers, (server) => post(`${server}/solve`, body, headers))

      const words = answers.map(({ status, body }) => (status === 202 ? 202 : `${status} ${body.error.code}`))
      assert.deepEqual(count(words), { 202: 1, '401 REPLAY_ATTACK': 199 })
    })

  test('of 100 requests with one challenge id and different nonces one is new', async (t) => {
    const servers = await twoServers(t)

    const answers = await everywhere(100, servers, (server) => postSigned(server, '/solve', solveBody('c1', CALLBACK)))

    assert.deepEqual(count(answers.map(({ body }) => body.message)), {
      'Challenge accepted': 1,
      'Challenge already accepted': 99,
    })
  })

  test('of 100 different challenges with one nonce one is accepted, and a refused one burns it as well', async (t) => {
    const servers = await twoServers(t)
    const requests = Array.from({ length: 100 }, (_, index) =>
      index % 2 === 0 ? solveBody(`c${index}`, CALLBACK) : '{',
    )

    const answers = await Promise.all(
      requests.map((body, index) => postSigned(servers[index % 2] ?? '', '/solve', body, { nonce: 'n1' })),
    )

    const answered = answers.filter(({ status }) => status !== 401)
    assert.equal(answered.length, 1)
    assert([202, 400].includes(answered[0]?.status ?? 0))
    assert.deepEqual(
      [...new Set(answers.filter(({ status }) => status === 401).map(({ body }) => body.error.code))],
      ['REPLAY_ATTACK'],
    )
  })
})

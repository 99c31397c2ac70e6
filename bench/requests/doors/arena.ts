import { setTimeout as sleep } from 'node:timers/promises'
import { addAccount } from '../../servers/account.ts'
import type { Steps } from '../scene.ts'

/** Short matches: their states and inputs cost no statement. */
export const ARENA_ENV = { SESSION_TICKS: '4', SESSION_TICK_INTERVAL_MS: '25' }

const ENDED = `select count(*)::integer as ended from match_results -- bench`
const LOOK_MS = 10

export const arenaSteps: Steps = async ({ ask, database }, count) => {
  const round = crypto.randomUUID().slice(0, 8)
  const tokens: string[] = []
  for (let n = 0; n < 2 * count; n += 1)
    tokens.push((await addAccount(database, `player${n}_${round}`, ['PLAYER'])).token)
  const ended = async () => (await database.query<{ ended: number }>(ENDED))[0]?.ended ?? 0
  const before = await ended()
  const join = (player: number) =>
    ask('POST', '/api/queue/join', {
      body: { mode: 'normal', timeoutSeconds: 60 },
      authorization: `Bearer ${tokens[player]}`,
    })
  return [
    {
      name: 'arena: two `POST /api/queue/join`, with the match',
      async send(n) {
        const answer = await join(2 * n)
        await join(2 * n + 1)
        while ((await ended()) < before + n + 1) await sleep(LOOK_MS)
        return answer
      },
    },
    {
      name: 'arena: `GET /api/profile`',
      send: (n) => ask('GET', '/api/profile', { authorization: `Bearer ${tokens[n]}` }),
    },
    { name: 'arena: `GET /api/leaderboard`', send: () => ask('GET', '/api/leaderboard?page=2&size=50') },
  ]
}

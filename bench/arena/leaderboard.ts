// Pages of a leaderboard with many accounts: a third of them never played (all at 1500), the others are spread as ratings are.
// Timed over HTTP, one request at a time, from the first page to the last; a page's time is the median of three.

import { Agent, request } from 'node:http'
import { percentile } from '../statistics.ts'
import type { PostgresServer } from '../servers/postgres.ts'
import type { Teardown } from '../teardown.ts'
import { startReeve } from './reeve-server.ts'

const SPREAD = `
  update players set rating = 1500 + 250 * (random() + random() + random() - 1.5) * 2, games = 10, wins = 4, losses = 4
   where user_id % 3 <> 0`
const SIZE = 50
const PAGES = 400

export interface PageTimes {
  accounts: number
  p50: number
  p99: number
  /** Of the slowest page. */
  max: number
}

export async function measureLeaderboard(
  postgres: PostgresServer,
  accounts: number,
  teardown: Teardown,
): Promise<PageTimes> {
  const server = await startReeve(postgres, { database: 'arena_leaderboard', players: accounts }, teardown)
  await server.query(SPREAD)
  await postgres.settle('arena_leaderboard')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const { hostname: host, port } = new URL(server.url)
  const last = Math.floor(accounts / SIZE)
  const get = (page: number) =>
    new Promise<number>((resolve, reject) => {
      const began = performance.now()
      const path = `/api/leaderboard?page=${page}&size=${SIZE}`
      const asked = request({ agent, host, port, path }, (response) => {
        response.resume()
        response.on('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - began)
          else reject(new Error(`page ${page}: ${response.statusCode}`))
        })
      })
      asked.on('error', reject)
      asked.end()
    })
  for (let n = 0; n < 50; n += 1) await get(1 + Math.floor((n / 50) * last)) // connections, plans, pages of the index
  const pages: number[] = []
  for (let n = 0; n < PAGES; n += 1) {
    const page = 1 + Math.floor((n / (PAGES - 1)) * (last - 1))
    const times = [await get(page), await get(page), await get(page)]
    pages.push(percentile(times, 50))
  }
  await server.stop()
  const result = { accounts, p50: percentile(pages, 50), p99: percentile(pages, 99), max: Math.max(...pages) }
  console.error(
    `leaderboard ${accounts} accounts: p50 ${result.p50.toFixed(2)} p99 ${result.p99.toFixed(2)} max ${result.max.toFixed(2)} ms`,
  )
  return result
}

// Two servers play the two sides: from the first POST /solve to the last result stored at the Challenger.
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { nowUs } from '../clock.ts'
import { closedLoop } from './load.ts'
import { solveRequests } from './requests.ts'
import type { PgAt } from './server-process.ts'

const INSERT_CHALLENGES = `
  insert into challenges (challenge_id, account_id, problem, validation_rule, answer, body_hash, bytes)
  select $1 || n, 1, '{"type":"math"}', '{"type":"ExactMatch"}', (17 * 23 + n)::text, '', 100
    from generate_series(0, $2::integer - 1) as n`
const COUNT = `select count(*)::integer as results from challenge_results where challenge_id like $1 || '%'`
const COUNT_WRONG = `select count(*)::integer as results from challenge_results where is_correct is not true or not is_final`

const LOOK_EVERY_MS = 20
const RESULTS_MS_MAX = 120_000
const WARM_UP = 500

export interface EndToEndOptions {
  challenger: { at: PgAt; port: number }
  solver: { port: number }
  challenges: number
  connections: number
}

/** Results per second. */
export async function measureEndToEnd(options: EndToEndOptions): Promise<number> {
  const client = new Client(options.challenger.at)
  await client.connect()
  try {
    await round(client, { ...options, challenges: WARM_UP }, 'warm')
    return await round(client, options, 'c')
  } finally {
    await client.end()
  }
}

async function round(client: Client, options: EndToEndOptions, prefix: string): Promise<number> {
  const { challenger, solver, challenges, connections } = options
  await client.query(INSERT_CHALLENGES, [prefix, challenges])
  const requests = solveRequests({
    count: challenges,
    challengeId: (index) => `${prefix}${index}`,
    callbackUrl: (id) => `http://127.0.0.1:${challenger.port}/callback/${id}`,
  })
  const count = async (sql: string, values: string[]) => {
    const { rows } = await client.query<{ results: number }>(sql, values)
    return rows[0]?.results ?? 0
  }

  const startUs = nowUs()
  await closedLoop({ port: solver.port, connections, requests }, 'all')
  while ((await count(COUNT, [prefix])) < challenges) {
    if (nowUs() - startUs > RESULTS_MS_MAX * 1000) throw new Error('some results never came')
    await sleep(LOOK_EVERY_MS)
  }
  const seconds = (nowUs() - startUs) / 1e6
  if ((await count(COUNT_WRONG, [])) > 0) throw new Error('a result is wrong, or there twice')
  return challenges / seconds
}

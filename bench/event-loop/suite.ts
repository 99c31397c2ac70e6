// `npm run bench -- event-loop`: for how long the largest requests block the event loop of a server, and with it everybody else.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, machineLine } from '../machine.ts'
import { positive } from '../options.ts'
import { above } from '../promised.ts'
import { spreadOf } from '../statistics.ts'
import type { Suite } from '../suite.ts'
import { table } from '../table.ts'
import type { Teardown } from '../teardown.ts'
import { packageOf } from './package.ts'
import { largeRequests, type LargeRequest } from './requests.ts'
import { startWatched, type WatchedServer } from './server.ts'

const REPETITIONS = 5
const WARM_UP = 2
const ACCOUNTS = 100_000

/** What docs/performance.md promises, in milliseconds, on 2 quiet cores. */
const BLOCKED_MS_MAX = 20

const PLAYERS = `
  insert into accounts (username, username_key, password_hash, roles)
  select 'player' || n, 'player' || n, 'none', array['PLAYER'] from generate_series(1, $1::integer) as n`
const SPREAD = `
  update players set rating = 1500 + 250 * (random() + random() + random() - 1.5) * 2, games = 10 where user_id % 3 <> 0`

export const eventLoopSuite: Suite = {
  name: 'event-loop',
  summary: 'For how long the largest requests block the event loop',
  options: `\
  --repetitions N    of each request (${REPETITIONS})
  --only TEXT        requests whose names contain it (all)
  --check            end with an error if a promise of docs/performance.md is not kept`,

  async run(args, teardown) {
    const { values } = parseArgs({
      args,
      options: {
        repetitions: { type: 'string' },
        only: { type: 'string' },
        check: { type: 'boolean', default: false },
      },
    })
    const repetitions = positive('--repetitions', values.repetitions) ?? REPETITIONS
    const folder = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
    teardown.add(() => rm(folder, { recursive: true, force: true }))
    const server = await serverWithPlayers(join(folder, 'data'), teardown)
    console.log(machineLine(describeMachine({ postgresVersion: 'embedded', redisVersion: 'not used' })))

    const rows: string[][] = []
    const broken: string[] = []
    for (const request of largeRequests(server, await packageOf(folder))) {
      const blocks = await blocksBy(server, request, repetitions)
      if (!request.name.includes(values.only ?? '')) continue
      const { median, max } = spreadOf(blocks)
      rows.push([request.name, median.toFixed(1), max.toFixed(1)])
      broken.push(...above(`${request.name}, ms`, median, BLOCKED_MS_MAX))
    }
    console.log(table(['longest block by', 'median, ms', 'most, ms'], rows))
    for (const line of broken) console.log(line)
    if (values.check && broken.length > 0) throw new Error('Promises of docs/performance.md were not kept.')
  },
}

async function serverWithPlayers(dataDir: string, teardown: Teardown): Promise<WatchedServer> {
  const server = await startWatched(dataDir, teardown)
  await server.database.query(PLAYERS, [ACCOUNTS])
  await server.database.query(SPREAD)
  return server
}

async function blocksBy(server: WatchedServer, request: LargeRequest, repetitions: number): Promise<number[]> {
  const blocks: number[] = []
  for (let n = 0; n < WARM_UP + repetitions; n += 1) {
    await request.prepare?.()
    await server.longestBlock()
    const answer = await request.send()
    const text = await answer.text()
    if (answer.ok === (request.isRefused === true))
      throw new Error(`${request.name}: ${answer.status} ${text.slice(0, 500)}`)
    if (n >= WARM_UP) blocks.push(await server.longestBlock())
  }
  return blocks
}

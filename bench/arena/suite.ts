// The arena: how many sessions one core holds at ten ticks a second, in the same run as Colyseus with the same game, `ws` as its documentation
// writes it, and the least that could be written; how fast a crowd is paired; how long a page of the leaderboard takes.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeMachine } from '../machine.ts'
import { freePort } from '../servers/free-port.ts'
import { startPostgres, type PostgresServer } from '../servers/postgres.ts'
import type { Suite } from '../suite.ts'
import type { Teardown } from '../teardown.ts'
import { findCapacity, type Capacity, type Step } from './capacity.ts'
import { measureLeaderboard, type PageTimes } from './leaderboard.ts'
import { startLoad } from './load-process.ts'
import { OPTIONS_HELP, parseOptions, type Options } from './options.ts'
import { measureCosts, type Contestant, type Cost } from './processor.ts'
import { measurePairing, type PairingTimes } from './pairing.ts'
import { leaveServerCore, startPinned } from './pinned-process.ts'
import type { Address } from './players/post.ts'
import { startReeve } from './reeve-server.ts'
import { assertPromises } from './promises.ts'
import { report } from './report.ts'

export interface Outcome {
  costs: Cost[] | null
  reeve: Capacity | null
  colyseus: Capacity | null
  plain: Capacity | null
  bare: Capacity | null
  pairing: PairingTimes | null
  leaderboard: PageTimes | null
}

export const arenaSuite: Suite = {
  name: 'arena',
  summary: 'sessions held at 10 Hz on one core, beside Colyseus; pairing of a crowd; pages of a large leaderboard',
  options: OPTIONS_HELP,

  async run(args, teardown) {
    const options = parseOptions(args)
    leaveServerCore()
    const folder = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
    teardown.add(() => rm(folder, { recursive: true, force: true }))
    const postgres = await startPostgres(folder, teardown)
    const { measureMs } = options
    const ownOptions = { steps: options.reeveSteps, measureMs }
    const peerOptions = { steps: options.colyseusSteps, measureMs }
    const has = (measure: Options['measures'][number]) => options.measures.includes(measure)

    const outcome: Outcome = {
      costs: has('processor') ? await runTogether(postgres, folder, options, teardown) : null,
      colyseus: has('colyseus') ? await runPeer(PEERS.colyseus, folder, peerOptions, teardown) : null,
      plain: has('plain') ? await runPeer(PEERS.plain, folder, ownOptions, teardown) : null,
      bare: has('bare') ? await runPeer(PEERS.bare, folder, ownOptions, teardown) : null,
      reeve: has('reeve') ? await runReeve(postgres, folder, options, teardown) : null,
      pairing: has('pairing') ? await measurePairing(postgres, options.queued, teardown) : null,
      leaderboard: has('leaderboard') ? await measureLeaderboard(postgres, options.accounts, teardown) : null,
    }
    const machine = describeMachine({ postgresVersion: postgres.version, redisVersion: 'not used' })
    const { text, json } = report(machine, options, outcome)
    console.log(text)
    if (options.check) assertPromises(outcome.costs ?? [])
    if (options.jsonFile !== null) await writeFile(options.jsonFile, `${JSON.stringify(json, null, 2)}\n`)
  },
}

async function runReeve(
  postgres: PostgresServer,
  folder: string,
  options: Options,
  teardown: Teardown,
): Promise<Capacity> {
  const players = 2 * Math.max(...options.reeveSteps)
  const server = await startReeve(postgres, { database: 'arena_sessions', players }, teardown)
  const load = await startLoad('reeve', addressOf(server.url), folder, teardown)
  const steps = { steps: options.reeveSteps, measureMs: options.measureMs }
  const capacity = await findCapacity(server, load, steps, (step) => tell('Reeve', step))
  await load.stop()
  await server.stop()
  return capacity
}

const PEERS = {
  colyseus: { title: 'Colyseus', game: 'colyseus', script: 'colyseus-server.ts' },
  plain: { title: 'Plain ws', game: 'reeve', script: 'plain-server.ts' },
  bare: { title: 'Bare ws', game: 'reeve', script: 'bare-server.ts' },
} as const

async function runPeer(
  peer: (typeof PEERS)[keyof typeof PEERS],
  folder: string,
  { steps, measureMs }: { steps: readonly number[]; measureMs: number },
  teardown: Teardown,
): Promise<Capacity> {
  const { server, load } = await startPeer(peer, folder, teardown)
  const capacity = await findCapacity(server, load, { steps, measureMs }, (step) => tell(peer.title, step))
  await load.stop()
  await server.stop()
  return capacity
}

async function startPeer(
  { title, game, script }: (typeof PEERS)[keyof typeof PEERS],
  folder: string,
  teardown: Teardown,
): Promise<Contestant> {
  const file = fileURLToPath(new URL(script, import.meta.url))
  const port = String(await freePort('127.0.0.1'))
  const command = [process.execPath, '--max-semi-space-size=64', '--import', 'tsx', file, port]
  const server = await startPinned(command, { NODE_ENV: 'production' }, teardown)
  return { title, server, load: await startLoad(game, addressOf(server.url), folder, teardown) }
}

async function runTogether(
  postgres: PostgresServer,
  folder: string,
  options: Options,
  teardown: Teardown,
): Promise<Cost[]> {
  const sessions = Math.min(...options.reeveSteps)
  const server = await startReeve(postgres, { database: 'arena_processor', players: 2 * sessions }, teardown)
  const contestants = [
    { title: 'Reeve', server, load: await startLoad('reeve', addressOf(server.url), folder, teardown) },
    await startPeer(PEERS.plain, folder, teardown),
    await startPeer(PEERS.bare, folder, teardown),
    await startPeer(PEERS.colyseus, folder, teardown),
  ]
  const costs = await measureCosts(contestants, { sessions, measureMs: options.measureMs })
  for (const { load, server } of contestants) {
    await load.stop()
    await server.stop()
  }
  return costs
}

function tell(who: string, step: Step): void {
  const { sessions, isHeld, p50, p99, max, statesPerSocket, cpuPercent, rssMb, lost } = step
  console.error(
    `${who.padEnd(9)} ${String(sessions).padStart(5)} sessions: ${isHeld ? 'held    ' : 'not held'} p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ` +
      `max ${max.toFixed(1)} ms late, ${statesPerSocket.toFixed(2)} states/s, CPU ${cpuPercent.toFixed(0)} %, ${rssMb.toFixed(0)} MB, ${lost} lost`,
  )
}

function addressOf(url: string): Address {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}

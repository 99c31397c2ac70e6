// The pool: what one server process does for clients and workers that speak HTTP to it, all on one machine.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, machineLine } from '../machine.ts'
import { pick, positive } from '../options.ts'
import { startPostgres, type PostgresServer } from '../servers/postgres.ts'
import { percentile } from '../statistics.ts'
import type { Suite } from '../suite.ts'
import type { Teardown } from '../teardown.ts'
import { measureCycles, type Cycles } from './cycles.ts'
import { measureDispatch, type Latency } from './dispatch.ts'
import { missed } from './promises.ts'
import { measureIdle, type Idle } from './idle.ts'
import { compileLoad } from './load-process.ts'
import { report } from './report.ts'
import { COUNTING } from './statements.ts'
import { startReeve, type Reeve } from './server.ts'

const MEASURES = ['cycles', 'dispatch', 'idle'] as const
const CREWS = ['1', '8', '64', '256', '96x3'] as const

export interface Results {
  cycles: (Cycles & { label: string })[]
  dispatch: Latency | null
  idle: Idle | null
}

interface Bench {
  postgres: PostgresServer
  teardown: Teardown
  /** The load, compiled. */
  program: string
  seconds: number
  counts: boolean
  nodeOptions: readonly string[]
}

export const poolSuite: Suite = {
  name: 'pool',
  summary: 'full cycles per second, idle dispatch by long poll, and thousands of workers that wait',
  options: `  --measures LIST   of ${MEASURES.join(',')} (all)
  --crews LIST      workers of the cycles, and x replicas: of ${CREWS.join(',')} (all)
  --seconds N       per crew of workers, and of the dispatch (8)
  --repetitions N   of the cycles; medians are printed (1)
  --against FOLDER  the cycles also of another build, in turns
  --idle N          workers that wait, in the end (15000)
  --profile FOLDER  a CPU profile of each server process
  --statements      the statements of a cycle, as PostgreSQL counts them
  --check           ends with an error if a figure is worse than docs/performance.md promises
  --json FILE       the figures as JSON`,

  async run(args, teardown) {
    const { values } = parseArgs({
      args,
      options: {
        measures: { type: 'string' },
        crews: { type: 'string' },
        seconds: { type: 'string' },
        repetitions: { type: 'string' },
        against: { type: 'string' },
        idle: { type: 'string' },
        profile: { type: 'string' },
        statements: { type: 'boolean' },
        check: { type: 'boolean' },
        json: { type: 'string' },
      },
    })
    const measures = pick('--measures', values.measures, MEASURES)
    const crews = pick('--crews', values.crews, CREWS)
    const idle = positive('--idle', values.idle) ?? 15_000
    const folder = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
    teardown.add(() => rm(folder, { recursive: true, force: true }))
    const postgres = await startPostgres(folder, teardown, values.statements === true ? { settings: COUNTING } : {})
    const bench: Bench = {
      postgres,
      teardown,
      program: await compileLoad(folder),
      seconds: positive('--seconds', values.seconds) ?? 8,
      counts: values.statements === true,
      nodeOptions: values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`],
    }
    const repetitions = positive('--repetitions', values.repetitions) ?? 1
    const builds = values.against === undefined ? ['.'] : [values.against, '.']
    const results: Results = {
      cycles: measures.includes('cycles') ? await cyclesOf(bench, { crews, repetitions, builds }) : [],
      dispatch: measures.includes('dispatch')
        ? await withReeve(bench, '.', (reeve) => measureDispatch(reeve, teardown, bench))
        : null,
      idle: measures.includes('idle')
        ? await withReeve(bench, '.', (reeve) =>
            measureIdle(reeve, teardown, { ...bench, counts: [idle / 5, idle / 2, idle].map(Math.round) }),
          )
        : null,
    }
    const machine = describeMachine({ postgresVersion: postgres.version, redisVersion: 'not used' })
    console.log(
      `\nMachine: ${machineLine(machine)}.\nPostgreSQL: ${postgres.settings}.\nOne server process; clients and workers in one other.\n`,
    )
    console.log(report(results))
    if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify({ machine, ...results }, null, 2)}\n`)
    const lines = values.check === true ? missed(results) : []
    if (lines.length > 0) throw new Error(`Worse than promised:\n  ${lines.join('\n  ')}`)
  },
}

let databases = 0

async function withReeve<T>(bench: Bench, build: string, measure: (reeve: Reeve) => Promise<T>): Promise<T> {
  const { postgres, teardown, nodeOptions } = bench
  const reeve = await startReeve(postgres, { database: `pool_${(databases += 1)}`, build, nodeOptions }, teardown)
  try {
    return await measure(reeve)
  } finally {
    await reeve.stop()
  }
}

interface CyclesPlan {
  crews: readonly string[]
  repetitions: number
  /** In turns, so that a busy neighbour disturbs all of them. */
  builds: readonly string[]
}

async function cyclesOf(bench: Bench, { crews, repetitions, builds }: CyclesPlan): Promise<Results['cycles']> {
  const medians: Results['cycles'] = []
  for (const crew of crews) {
    const [workers = 1, replicas = 1] = crew.split('x').map(Number)
    const runs = builds.map((): Cycles[] => [])
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      for (const [index, build] of builds.entries()) {
        const one = await withReeve(bench, build, (reeve) =>
          measureCycles(reeve, bench.teardown, { ...bench, workers, replicas }),
        )
        console.error(
          `${build === '.' ? '' : `${build}: `}${workers} workers, replicas ${replicas}: ${one.perSec.toFixed(0)} cycles/s, ` +
            `${one.serverMs.toFixed(2)} + ${one.postgresMs.toFixed(2)} ms`,
        )
        runs[index]?.push(one)
      }
    }
    for (const [index, build] of builds.entries()) {
      medians.push({ ...medianOf(runs[index] ?? []), label: build === '.' ? '' : `${build}: `, workers, replicas })
    }
  }
  return medians
}

function medianOf(runs: readonly Cycles[]): Omit<Cycles, 'workers' | 'replicas'> {
  const median = (of: (run: Cycles) => number) => percentile(runs.map(of), 50)
  return {
    statements: runs.at(-1)?.statements ?? [],
    walBytes: median(({ walBytes }) => walBytes),
    perSec: median(({ perSec }) => perSec),
    serverMs: median(({ serverMs }) => serverMs),
    postgresMs: median(({ postgresMs }) => postgresMs),
    loadPercent: median(({ loadPercent }) => loadPercent),
  }
}

// The pool: what one server process does for clients and workers that speak HTTP to it, all on one machine.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, machineLine } from '../machine.ts'
import { pick, positive } from '../options.ts'
import { startPostgres, type PostgresServer } from '../servers/postgres.ts'
import type { Suite } from '../suite.ts'
import { table } from '../table.ts'
import type { Teardown } from '../teardown.ts'
import { measureCycles, type Cycles } from './cycles.ts'
import { measureDispatch, type Latency } from './dispatch.ts'
import { measureIdle, type Idle } from './idle.ts'
import { startReeve, type Reeve } from './server.ts'

const MEASURES = ['cycles', 'dispatch', 'idle'] as const
const CREWS = [1, 8, 64, 256]
const REPLICAS = 3

interface Results {
  cycles: Cycles[]
  dispatch: Latency | null
  idle: Idle | null
}

export const poolSuite: Suite = {
  name: 'pool',
  summary: 'full cycles per second, idle dispatch by long poll, and thousands of workers that wait',
  options: `  --measures LIST   of ${MEASURES.join(',')} (all)
  --seconds N       per crew of workers (8)
  --samples N       of the idle dispatch (400)
  --idle N          workers that wait, in the end (5000)
  --json FILE       the figures as JSON`,

  async run(args, teardown) {
    const { values } = parseArgs({
      args,
      options: {
        measures: { type: 'string' },
        seconds: { type: 'string' },
        samples: { type: 'string' },
        idle: { type: 'string' },
        json: { type: 'string' },
      },
    })
    const measures = pick('--measures', values.measures, MEASURES)
    const has = (measure: (typeof MEASURES)[number]) => measures.includes(measure)
    const seconds = positive('--seconds', values.seconds) ?? 8
    const samples = positive('--samples', values.samples) ?? 400
    const idle = positive('--idle', values.idle) ?? 5000
    const folder = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
    teardown.add(() => rm(folder, { recursive: true, force: true }))
    const postgres = await startPostgres(folder, teardown)

    const results: Results = {
      cycles: has('cycles') ? await cyclesOf(postgres, teardown, seconds) : [],
      dispatch: has('dispatch')
        ? await withReeve(postgres, teardown, (reeve) => measureDispatch(reeve, { label: 'one', samples }))
        : null,
      idle: has('idle')
        ? await withReeve(postgres, teardown, (reeve) => measureIdle(reeve, [idle / 5, idle / 2, idle].map(Math.round)))
        : null,
    }
    const machine = describeMachine({ postgresVersion: postgres.version, redisVersion: 'not used' })
    console.log(
      `\nMachine: ${machineLine(machine)}.\nPostgreSQL: ${postgres.settings}.\nOne server process; clients and workers in one other.\n`,
    )
    console.log(report(results))
    if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify({ machine, ...results }, null, 2)}\n`)
  },
}

let databases = 0

async function withReeve<T>(
  postgres: PostgresServer,
  teardown: Teardown,
  measure: (reeve: Reeve) => Promise<T>,
): Promise<T> {
  const reeve = await startReeve(postgres, `pool_${(databases += 1)}`, teardown)
  try {
    return await measure(reeve)
  } finally {
    await reeve.stop()
  }
}

async function cyclesOf(postgres: PostgresServer, teardown: Teardown, seconds: number): Promise<Cycles[]> {
  const cycles: Cycles[] = []
  for (const [workers, replicas] of [...CREWS.map((count) => [count, 1] as const), [96, REPLICAS] as const]) {
    const one = await withReeve(postgres, teardown, (reeve) => measureCycles(reeve, { workers, replicas, seconds }))
    console.error(`${workers} workers, replicas ${replicas}: ${one.perSec.toFixed(0)} cycles/s`)
    cycles.push(one)
  }
  return cycles
}

function report({ cycles, dispatch, idle }: Results): string {
  const number = (value: number, digits = 0) => value.toLocaleString('en', { maximumFractionDigits: digits })
  const latency = (name: string, { samples, p50, p99, max }: Latency) => [
    name,
    number(samples),
    number(p50, 1),
    number(p99, 1),
    number(max, 1),
  ]
  const parts: string[] = []
  if (cycles.length > 0) {
    const rows = cycles.map(({ workers, replicas, perSec }) => [
      `${workers} workers, replicas ${replicas}`,
      number(perSec),
    ])
    parts.push(table(['Full cycles', 'per second'], rows))
  }
  const latencies = [
    ...(dispatch === null ? [] : [latency('one worker waits', dispatch)]),
    ...(idle === null ? [] : [latency(`${number(idle.steps.at(-1)?.workers ?? 0)} workers wait`, idle.dispatch)]),
  ]
  if (latencies.length > 0) parts.push(table(['Dispatch when idle, ms', 'samples', 'p50', 'p99', 'max'], latencies))
  if (idle !== null) {
    const base = idle.steps[0]?.rssMb ?? 0
    const rows = idle.steps.map(({ workers, rssMb, cpuPercent }) => [
      number(workers),
      number(rssMb),
      workers === 0 ? '' : number(((rssMb - base) * 1024) / workers, 1),
      number(cpuPercent, 1),
    ])
    parts.push(table(['Workers in long polls', 'memory, MB', 'each, KB', 'CPU, % of a core'], rows))
  }
  return parts.join('\n\n')
}

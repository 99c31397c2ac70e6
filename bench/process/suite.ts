// The process itself: how long `npm start` takes until it answers, the first time and later, and what an idle server costs.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, machineLine } from '../machine.ts'
import { pick, positive } from '../options.ts'
import { usageOf } from '../pool/usage.ts'
import { spreadOf } from '../statistics.ts'
import { above } from '../promised.ts'
import type { Suite } from '../suite.ts'
import { table } from '../table.ts'
import type { Teardown } from '../teardown.ts'
import { measureIdle } from './idle.ts'
import { startReeve } from '../servers/reeve.ts'

const PARTS = ['start', 'idle'] as const
const REPETITIONS = 3
const IDLE_SEC = 60

/** What docs/performance.md promises, on a machine that does nothing else. */
const PROMISED = { firstMs: 3000, secondMs: 1000, idlePercent: 0.5 }

interface StartTime {
  readyMs: number
  /** Of the server's own process, until it is ready. */
  cpuMs: number
}

export const processSuite: Suite = {
  name: 'process',
  summary: 'From npm start until the server answers, the first time and later; what an idle server costs',
  options: `\
  --part NAME        start, idle (both)
  --repetitions N    data folders, each started twice (${REPETITIONS})
  --seconds N        how long the idle server is watched; 60 or more (${IDLE_SEC})
  --check            end with an error if a promise of docs/performance.md is not kept`,

  async run(args, teardown) {
    const { values } = parseArgs({
      args,
      options: {
        part: { type: 'string' },
        repetitions: { type: 'string' },
        seconds: { type: 'string' },
        check: { type: 'boolean', default: false },
      },
    })
    const repetitions = positive('--repetitions', values.repetitions) ?? REPETITIONS
    const seconds = positive('--seconds', values.seconds) ?? IDLE_SEC
    const parts = pick('--part', values.part, PARTS)
    console.log(machineLine(describeMachine({ postgresVersion: 'embedded', redisVersion: 'not used' })))
    const broken = [
      ...(parts.includes('start') ? await starts(repetitions, teardown) : []),
      ...(parts.includes('idle') ? await idle(seconds, teardown) : []),
    ]
    for (const line of broken) console.log(line)
    if (values.check && broken.length > 0) throw new Error('Promises of docs/performance.md were not kept.')
  },
}

/** What is above its promise. */
async function starts(repetitions: number, teardown: Teardown): Promise<string[]> {
  const { first, second } = await measureStarts(repetitions, teardown)
  console.log(
    table(['start', 'ready after', 'from … to', 'processor'], [rowOf('first', first), rowOf('later', second)]),
  )
  return [
    ...above('first start, ms', medianOf(first), PROMISED.firstMs),
    ...above('later start, ms', medianOf(second), PROMISED.secondMs),
  ]
}

/** What is above its promise. */
async function idle(seconds: number, teardown: Teardown): Promise<string[]> {
  const cost = await withFolder(teardown, async (dataDir) => {
    const server = await startReeve({ dataDir, env: { LOG_LEVEL: 'info' } }, teardown)
    return measureIdle(server, dataDir, seconds).finally(server.stop)
  })
  const row = [
    `${seconds} s`,
    `${cost.server.toFixed(2)} %`,
    `${cost.postgres.toFixed(2)} %`,
    cost.wakeUps.toFixed(1),
    cost.statements.toFixed(1),
    `${cost.rssMb.toFixed(0)} MB`,
  ]
  console.log(table(['idle', 'server', 'PostgreSQL', 'wake-ups/s', 'statements/s', 'memory'], [row]))
  return above('idle server, % of a core', cost.server, PROMISED.idlePercent)
}

async function measureStarts(repetitions: number, teardown: Teardown) {
  const first: StartTime[] = []
  const second: StartTime[] = []
  for (let round = 0; round < repetitions; round += 1) {
    await withFolder(teardown, async (dataDir) => {
      first.push(await startOnce(dataDir, teardown))
      second.push(await startOnce(dataDir, teardown))
    })
  }
  return { first, second }
}

async function startOnce(dataDir: string, teardown: Teardown): Promise<StartTime> {
  const { pid, readyMs, stop } = await startReeve({ dataDir, env: { LOG_LEVEL: 'info' } }, teardown)
  const { cpuMs } = await usageOf(pid)
  await stop()
  return { readyMs, cpuMs }
}

async function withFolder<Result>(teardown: Teardown, work: (dataDir: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
  const remove = teardown.add(() => rm(folder, { recursive: true, force: true }))
  return work(join(folder, 'data')).finally(remove)
}

const medianOf = (times: readonly StartTime[]): number => spreadOf(times.map(({ readyMs }) => readyMs)).median

function rowOf(name: string, times: readonly StartTime[]): string[] {
  const { median, min, max } = spreadOf(times.map(({ readyMs }) => readyMs))
  const cpu = spreadOf(times.map(({ cpuMs }) => cpuMs)).median
  return [name, `${median.toFixed(0)} ms`, `${min.toFixed(0)} … ${max.toFixed(0)}`, `${cpu.toFixed(0)} ms`]
}

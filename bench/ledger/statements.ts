// Whether a statement of the ledger takes longer once the table holds millions of finished jobs. Two databases, one with few and one
// with many of them; each step runs on both in turn, so that a machine that is busy for a while is busy for both.

import { randomUUID } from 'node:crypto'
import { percentile } from '../statistics.ts'
import { table } from '../table.ts'
import type { Field } from './cell.ts'
import { openReeveLedger, type ReeveLedger } from './contestants/reeve.ts'

const FEW = 10_000
const ROUNDS = 60
const WARM_UP_ROUNDS = 10
const SLOWER_MAX = 1.1

type Timed = <T>(step: string, work: () => Promise<T>) => Promise<T>

export interface StatementTime {
  step: string
  fewMs: number
  manyMs: number
}

export async function measureStatements(field: Field, many: number): Promise<StatementTime[]> {
  const few = await openFilled(field, FEW)
  try {
    const filled = await openFilled(field, many)
    try {
      return await compare(few.reeve, filled.reeve)
    } finally {
      await filled.close()
    }
  } finally {
    await few.close()
  }
}

async function openFilled({ postgres, redis }: Field, count: number) {
  const database = `bench_${randomUUID().replaceAll('-', '')}`
  const { host, port, user } = postgres
  await postgres.createDatabase(database)
  const servers = {
    postgres: { host, port, user, database },
    redis: { host: redis.host, port: redis.port, path: redis.path },
  }
  const reeve = await openReeveLedger(servers)
  console.error(`filling a table with ${count.toLocaleString('en')} finished jobs`)
  await reeve.prefillFinished(count)
  await postgres.settle(database)
  return {
    reeve,
    async close() {
      await reeve.close()
      await postgres.dropDatabase(database)
    },
  }
}

async function compare(few: ReeveLedger, many: ReeveLedger): Promise<StatementTime[]> {
  const times = { few: new Map<string, number[]>(), many: new Map<string, number[]>() }
  const timedInto =
    (into: Map<string, number[]> | null): Timed =>
    async (step, work) => {
      const started = performance.now()
      const answer = await work()
      const ms = performance.now() - started
      if (into !== null) into.set(step, [...(into.get(step) ?? []), ms])
      return answer
    }
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    const counts = round >= WARM_UP_ROUNDS
    const turns = [
      () => few.runSteps(timedInto(counts ? times.few : null)),
      () => many.runSteps(timedInto(counts ? times.many : null)),
    ]
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn()
  }
  return [...times.few].map(([step, ms]) => ({
    step,
    fewMs: percentile(ms, 50),
    manyMs: percentile(times.many.get(step) ?? [], 50),
  }))
}

export function statementsTable(times: readonly StatementTime[], many: number): string {
  const head = [FEW, many].map((count) => `${count.toLocaleString('en')} finished, ms`)
  const rows = times.map(({ step, fewMs, manyMs }) => [
    step,
    fewMs.toFixed(2),
    manyMs.toFixed(2),
    `${(manyMs / fewMs).toFixed(2)}×`,
  ])
  return table(['Median time of a step', ...head, 'ratio'], rows)
}

export const slowStatements = (times: readonly StatementTime[]): string[] =>
  times
    .filter(({ fewMs, manyMs }) => manyMs / fewMs > SLOWER_MAX)
    .map(({ step, fewMs, manyMs }) => `${step}: ${(manyMs / fewMs).toFixed(2)}, promised at most ${SLOWER_MAX}.`)

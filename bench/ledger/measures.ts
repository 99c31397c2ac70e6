// The measures and the figures each of them yields, in the order of the tables.

import type { Cell } from './cell.ts'
import type { Contestant } from './contestant.ts'
import { measureBulk } from './measures/bulk.ts'
import { measureConsume } from './measures/consume.ts'
import { measureAfter } from './measures/flatness.ts'
import { measureIdleStart } from './measures/idle-start.ts'
import { measureOneByOne } from './measures/one-by-one.ts'
import { measureProcesses } from './measures/processes.ts'
import type { Limits } from './options.ts'

export const PROCESSES = [1, 4, 8] as const

export type MeasureName =
  | 'one-by-one'
  | 'bulk'
  | 'consume'
  | 'idle'
  | 'flat-few'
  | 'flat-many'
  | `processes-${(typeof PROCESSES)[number]}`

export const FIGURES = {
  oneByOne: { title: 'one by one, end to end', unit: 'jobs/s' },
  bulk: { title: 'in bulk, end to end', unit: 'jobs/s' },
  consume: { title: 'consume only', unit: 'jobs/s' },
  oneByOneNode: { title: 'one by one: Node', unit: 'µs' },
  oneByOnePostgres: { title: 'PostgreSQL', unit: 'µs' },
  oneByOneRedis: { title: 'Redis', unit: 'µs' },
  bulkNode: { title: 'bulk: Node', unit: 'µs' },
  bulkPostgres: { title: 'PostgreSQL', unit: 'µs' },
  bulkRedis: { title: 'Redis', unit: 'µs' },
  idleP50: { title: 'idle start p50', unit: 'ms' },
  idleP95: { title: 'idle start p95', unit: 'ms' },
  idleP99: { title: 'idle start p99', unit: 'ms' },
  afterFew: { title: 'one by one after few finished', unit: 'jobs/s' },
  afterMany: { title: 'one by one after many finished', unit: 'jobs/s' },
  processes1: { title: '1 worker process', unit: 'jobs/s' },
  processes4: { title: '4', unit: 'jobs/s' },
  processes8: { title: '8', unit: 'jobs/s' },
} as const
export type Figure = keyof typeof FIGURES
export type Sample = readonly (readonly [Figure, number])[]

export interface Measure {
  name: MeasureName
  /** Peers are not measured for flatness (some delete finished jobs, so that there is nothing to fill) nor with several processes. */
  reeveOnly: boolean
  take(cell: Cell, limits: Limits): Promise<Sample>
}

export const MEASURES: readonly Measure[] = [
  {
    name: 'one-by-one',
    reeveOnly: false,
    async take(cell, limits) {
      const { rate, spent } = await measureOneByOne(cell, limits)
      return [
        ['oneByOne', rate],
        ['oneByOneNode', spent.node],
        ['oneByOnePostgres', spent.postgres],
        ['oneByOneRedis', spent.redis],
      ]
    },
  },
  {
    name: 'bulk',
    reeveOnly: false,
    async take(cell, limits) {
      const { rate, spent } = await measureBulk(cell, limits)
      return [
        ['bulk', rate],
        ['bulkNode', spent.node],
        ['bulkPostgres', spent.postgres],
        ['bulkRedis', spent.redis],
      ]
    },
  },
  {
    name: 'consume',
    reeveOnly: false,
    take: async (cell, limits) => [['consume', await measureConsume(cell, limits)]],
  },
  { name: 'idle', reeveOnly: false, take: takeIdle },
  {
    name: 'flat-few',
    reeveOnly: true,
    take: async (cell, limits) => [['afterFew', await measureAfter(cell, limits, limits.finishedFew)]],
  },
  {
    name: 'flat-many',
    reeveOnly: true,
    take: async (cell, limits) => [['afterMany', await measureAfter(cell, limits, limits.finishedMany)]],
  },
  ...PROCESSES.map((count): Measure => ({
    name: `processes-${count}`,
    reeveOnly: true,
    take: async (cell, limits) => [[`processes${count}`, await measureProcesses(cell, limits, count)]],
  })),
]

export function applies(measure: Measure, contestant: Contestant): boolean {
  return !measure.reeveOnly || contestant.side === 'reeve'
}

async function takeIdle(cell: Cell, limits: Limits): Promise<Sample> {
  const { p50Ms, p95Ms, p99Ms } = await measureIdleStart(cell, limits)
  return [
    ['idleP50', p50Ms],
    ['idleP95', p95Ms],
    ['idleP99', p99Ms],
  ]
}

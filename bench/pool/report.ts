import { table } from '../table.ts'
import type { Latency } from './dispatch.ts'
import type { Results } from './suite.ts'

const number = (value: number, digits = 0) => value.toLocaleString('en', { maximumFractionDigits: digits })

export function report({ cycles, dispatch, idle }: Results): string {
  const parts: string[] = []
  if (cycles.length > 0) {
    const rows = cycles.map((one) => [
      `${one.label}${one.workers} workers, replicas ${one.replicas}`,
      number(one.perSec),
      number(one.serverMs, 2),
      number(one.postgresMs, 2),
      number(one.loadPercent),
    ])
    parts.push(
      table(['Full cycles', 'per second', 'server, ms each', 'PostgreSQL, ms each', 'load, % of a core'], rows),
    )
  }
  for (const { label, workers, replicas, statements, walBytes } of cycles) {
    if (statements.length === 0) continue
    const total = statements.reduce((sum, { calls }) => sum + calls, 0)
    const rows = statements
      .filter(({ calls }) => calls >= 0.005)
      .map(({ query, calls, ms }) => [briefly(query), number(calls, 2), number(ms, 3)])
    const title = `${label}${workers} workers, replicas ${replicas}: ${number(total, 1)} statements, ${number(walBytes)} bytes of WAL`
    parts.push(table([title, 'per cycle', 'ms per cycle'], rows))
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

const briefly = (query: string): string => query.replaceAll(/\s+/g, ' ').trim().slice(0, 90).replaceAll('|', '/')

const latency = (name: string, { samples, p50, p99, max }: Latency) => [
  name,
  number(samples),
  number(p50, 1),
  number(p99, 1),
  number(max, 1),
]
